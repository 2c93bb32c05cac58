/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slices shrink when there are very many tasks. Tasks may starve from half of the starvation limit on (starvation.h). If a quantum for each
 * task took as long, so many would be rescued that the rescues, and not the policy, would decide who runs. So all slices become shorter
 * in the same ratio, and a round takes a third of the limit. What the policy grants to one and to another stays in proportion. The
 * default limit of 15 s and quantum of 4 ms allow for 1,250 tasks on a CPU.
 */
#ifndef DIVVY_HOST_CROWD_H
#define DIVVY_HOST_CROWD_H

#include "host/state.h"

static __always_inline u64 starvation_limit_ns(void)
{
	return config.starvation_limit_ms * MS;
}

/* So many tasks can have a quantum each in a third of the limit; without a limit it does not matter how many there are. */
static u64 no_crowd;

static __always_inline void measure_crowd(void)
{
	no_crowd = config.starvation_limit_ms ? starvation_limit_ns() / 3 * config.config.ncpus / config.config.quantum
					      : POOL;
}

/* A slice for so many tasks as are runnable. A slice without an end stays so: first come, first served. */
static __always_inline u64 slice_in_crowd(u64 slice)
{
	u64 n = machine.s.tasks.nrunnable;

	if (n <= no_crowd || slice == SLICE_INF)
		return slice;
	return slice / n * no_crowd + 1;
}

#endif
