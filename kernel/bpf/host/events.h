/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Events
 */
#ifndef DIVVY_HOST_EVENTS_H
#define DIVVY_HOST_EVENTS_H

#include "host/state.h"

/* A wait for the lock cannot be timed while it is held: one of many is timed on an empty section before. */
static __always_inline void sample_lock(void)
{
	u64 start;

	if (!config.sample || stats.events & (config.sample - 1))
		return;
	start = bpf_ktime_get_ns();
	bpf_spin_lock(&lock);
	bpf_spin_unlock(&lock);
	__sync_fetch_and_add(&stats.lock_wait_ns, bpf_ktime_get_ns() - start);
	__sync_fetch_and_add(&stats.lock_samples, 1);
}

/* Under the lock */
static __always_inline void tell(enum event_kind kind, struct event *e)
{
	event_tell(&machine, kind, e);
	e->seq = ++stats.events;
}

/* Asks a CPU of the machine to dispatch. */
static __always_inline void kick(u32 cpu)
{
	if (cpu == NO_CPU)
		return;
	scx_bpf_kick_cpu(config.kernel_cpu[cpu & CPU_MASK],
			 machine.s.facts.picked[cpu & CPU_MASK] ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
	__sync_fetch_and_add(&stats.kicks, 1);
}

#endif
