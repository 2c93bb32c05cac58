/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How often the starvation limit (starvation.h) makes a task run out of order, and for how long.
 *
 * With n runnable tasks a rescue takes limit / 2n, and the task runs for a quarter of that. So if all n starve, each runs within the
 * limit, and all of them take a quarter of one CPU, or up to a half from limit / 800 us tasks on, as no timer is shorter. Say that two
 * users share a CPU. One of them has very many threads, and may have half of the CPU. Rescues do not exceed that half.
 */
#ifndef DIVVY_HOST_RESCUE_RATE_H
#define DIVVY_HOST_RESCUE_RATE_H

#include "host/crowd.h"
#include "host/slices.h"
#include "host/timers.h"

/* Tasks in the fallback DSQ, as was last seen */
static u32 fallback_waiting;

static __always_inline u64 waiting_tasks(void)
{
	return OVER_SHARDS(s.tasks.nrunnable) + fallback_waiting + (config.limits ? limits.nheld : 0);
}

/* The time for a rescue; without need it is not shorter than two quanta. It takes two periods of the timer, so the limit holds for up
 * to limit / 400 us tasks. */
static __always_inline u64 rescue_ns(void)
{
	u64 n = waiting_tasks(), each = 2 * config.config.quantum;

	if (config.starvation_limit_ms)
		each = shorter(each, starvation_limit_ns() / 2 / (n ? n : 1));
	return each > SHORTEST_TIMER_NS ? each : SHORTEST_TIMER_NS;
}

/* How much of that the task runs: half a quantum at most, or the shortest time of a timer */
static __always_inline u64 rescue_slice_ns(u64 rescue)
{
	return rescue / 4 > SHORTEST_TIMER_NS ? rescue / 4 : SHORTEST_TIMER_NS;
}

#endif
