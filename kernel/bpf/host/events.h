/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Events: telling one to the machine (under the lock), and asking a CPU to dispatch because of the answer (after the
 * lock is released). Every change of the machine goes through `tell` or `tell_inlined`, which also number the event for the log.
 */
#ifndef DIVVY_HOST_EVENTS_H
#define DIVVY_HOST_EVENTS_H

#include "host/state.h"

/* Measures how long the lock is waited for. No clock may be read while it is held, so for one dispatch in many an empty
 * critical section is timed first. The lock is not held. */
static __always_inline void sample_lock(void)
{
	u64 start;

	if (machine.decisions & config.no_sample)
		return;
	start = bpf_ktime_get_ns();
	bpf_spin_lock(&lock);
	bpf_spin_unlock(&lock);
	__sync_fetch_and_add(&stats.lock_wait_ns, bpf_ktime_get_ns() - start);
	__sync_fetch_and_add(&stats.lock_samples, 1);
}

/* Under the lock: its place in the log. */
static __always_inline void number_event(struct event *e)
{
	if (config.log)
		e->seq = ++stats.events;
}

/* Under the lock. The answer is in the event. */
static __always_inline void tell(enum event_kind kind, struct event *e)
{
	event_tell(&machine, kind, e);
	number_event(e);
}

/* The same of a task that becomes runnable or blocks, in functions that a program or a timer calls: calls are deep below. */
static __always_inline void tell_inlined(enum event_kind kind, struct event *e)
{
	event_tell_inlined(&machine, kind, e);
	number_event(e);
}

/* Asks a CPU to dispatch, by the machine's number. The lock is not held. */
static __always_inline void kick(u32 cpu)
{
	if (cpu == NO_CPU)
		return;
	scx_bpf_kick_cpu(config.kernel_cpu[cpu & CPU_MASK],
			 machine.s.tasks.picked[cpu & CPU_MASK] ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
	__sync_fetch_and_add(&stats.kicks, 1);
}

#endif
