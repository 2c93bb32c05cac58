/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How often the starvation limit (starvation.h) makes a task run out of order, and for how long.
 */
#ifndef DIVVY_HOST_RESCUE_RATE_H
#define DIVVY_HOST_RESCUE_RATE_H

#include "host/slices.h"
#include "host/timers.h"

/* Tasks in the fallback DSQ, as was last seen */
static u32 fallback_waiting;

static __always_inline u64 starvation_limit_ns(void)
{
	return config.starvation_limit_ms * MS;
}

static __always_inline u64 waiting_tasks(void)
{
	return machine.s.tasks.nrunnable + fallback_waiting + (config.limits ? limits.nheld : 0);
}

/* The time for a rescue; without need it is not shorter than two quanta. A timer can do no more, so the limit holds for up to
 * limit / 200 us tasks. */
static __always_inline u64 rescue_ns(void)
{
	u64 n = waiting_tasks(), each = 2 * config.config.quantum;

	if (config.starvation_limit_ms)
		each = shorter(each, starvation_limit_ns() / 2 / (n ? n : 1));
	return each > SHORTEST_TIMER_NS ? each : SHORTEST_TIMER_NS;
}

/* The time that the task runs: a quantum, or less */
static __always_inline u64 rescue_slice_ns(void)
{
	return rescue_ns() / 2;
}

#endif
