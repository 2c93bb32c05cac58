/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks that the machine does not schedule: kernel threads, which go first, and tasks without an id, which wait in the
 * fallback DSQ.
 *
 * Kernel threads go first because the machine depends on them, and a policy may let a task wait for as long as its
 * paper says. The functions call the kernel, so the lock is not held; what they read of the machine is a hint.
 */
#ifndef DIVVY_HOST_FALLBACK_H
#define DIVVY_HOST_FALLBACK_H

#include "host/taken_cpus.h"

static __always_inline void enqueue_kernel_thread(struct task_struct *p, u64 enq_flags)
{
	u32 cpu = machine_cpu(scx_bpf_task_cpu(p));

	/* It preempts only when it wakes up. If it did so at the end of its slice, two kernel threads would leave
	 * nobody else the CPU. */
	if (enq_flags & SCX_ENQ_WAKEUP && machine.s.tasks.picked[cpu & CPU_MASK])
		enq_flags |= SCX_ENQ_PREEMPT;
	insert_local(p, SCX_SLICE_DFL, enq_flags);
	__sync_fetch_and_add(&stats.kernel_threads, 1);
}

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
