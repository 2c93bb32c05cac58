/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks without an id, which the machine does not know. They wait in the fallback DSQ. The functions call the kernel, so the
 * lock is not held; what they read of the machine is a hint.
 */
#ifndef DIVVY_HOST_FALLBACK_H
#define DIVVY_HOST_FALLBACK_H

#include "host/taken_cpus.h"

static __always_inline void enqueue_fallback(struct task_struct *p, u64 enq_flags)
{
	__sync_fetch_and_add(&stats.fallbacks, 1); /* first: from then on CPUs look there */
	dsq_insert(p, FALLBACK, config.config.quantum, enq_flags);
	scx_bpf_kick_cpu(scx_bpf_task_cpu(p), enq_flags & SCX_ENQ_LAST ? 0 : SCX_KICK_IDLE);
}

/* Tasks in the fallback DSQ get as many slices as the same number of tasks of the policy would: at each dispatch a CPU
 * adds their number, and it serves one of them when the sum reaches the number of all runnable tasks. */
static u64 fallback_credit[MAX_CPUS];

/* Serves a task of the fallback DSQ on this CPU if one is due. */
static __always_inline bool dispatch_fallback(u32 cpu)
{
	s32 queued;
	u64 all;

	if (!stats.fallbacks)
		return false;
	queued = scx_bpf_dsq_nr_queued(FALLBACK);
	if (queued <= 0)
		return false;
	fallback_credit[cpu & CPU_MASK] += queued;
	all = queued + machine.s.tasks.nrunnable;
	if (fallback_credit[cpu & CPU_MASK] < all)
		return false;
	fallback_credit[cpu & CPU_MASK] %= all;
	return dsq_consume(FALLBACK);
}

#endif
