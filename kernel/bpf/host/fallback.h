/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Fallback
 */
#ifndef DIVVY_HOST_FALLBACK_H
#define DIVVY_HOST_FALLBACK_H

#include "host/state.h"

static __always_inline void kernel_thread_first(struct task_struct *p, u64 enq_flags)
{
	u32 cpu = machine_cpu(scx_bpf_task_cpu(p));

	/* One that has used up its slice waits for the others here: two of them would leave nobody else the CPU. */
	if (enq_flags & SCX_ENQ_WAKEUP && machine.s.facts.picked[cpu & CPU_MASK])
		enq_flags |= SCX_ENQ_PREEMPT;
	dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
	__sync_fetch_and_add(&stats.kernel_threads, 1);
}

static __always_inline void fall_back(struct task_struct *p, u64 enq_flags)
{
	__sync_fetch_and_add(&stats.fallbacks, 1); /* first: from then on CPUs look there */
	dsq_insert(p, FALLBACK, config.config.quantum, enq_flags);
	scx_bpf_kick_cpu(scx_bpf_task_cpu(p), enq_flags & SCX_ENQ_LAST ? 0 : SCX_KICK_IDLE);
}

/* Tasks in the fallback DSQ get as many turns as so many tasks of the policy would: the first of them runs when
 * the others have had theirs. */
static u64 fallback_credit[MAX_CPUS];

static __always_inline bool fallback_is_next(u32 cpu)
{
	s32 queued;
	u64 all;

	if (!stats.fallbacks)
		return false;
	queued = scx_bpf_dsq_nr_queued(FALLBACK);
	if (queued <= 0)
		return false;
	fallback_credit[cpu & CPU_MASK] += queued;
	all = queued + machine.s.facts.nrunnable;
	if (fallback_credit[cpu & CPU_MASK] < all)
		return false;
	fallback_credit[cpu & CPU_MASK] %= all;
	return dsq_consume(FALLBACK);
}

#endif
