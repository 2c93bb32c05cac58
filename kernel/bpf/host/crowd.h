/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slices shrink when there are very many tasks. Tasks may starve from half of the starvation limit on (starvation.h). If a quantum for each
 * task took as long, so many would be rescued that the rescues, and not the policy, would decide who runs. So all slices become shorter
 * in the same ratio, with several shards all of a shard, and a quantum for each takes a sixth of the limit: then tasks that share half of the CPUs still have their turns
 * within a third of it. It begins with 625 tasks per CPU, on average, if the limit is 15 s and the quantum 4 ms.
 *
 * A slice ends at a tick of the kernel, so none is shorter than that. With a tick of 4 ms and a quantum of 4 ms slices stay as they are, and
 * only rescues help. A policy may give a task several quanta at a time, or let it go on with the rest of a slice (drr, mlfq, o1): then a
 * round takes longer.
 */
#ifndef DIVVY_HOST_CROWD_H
#define DIVVY_HOST_CROWD_H

#include "host/state.h"

static __always_inline u64 starvation_limit_ns(void)
{
	return config.starvation_limit_ms * MS;
}

/* How long one round of a CPU's tasks may take; without a limit it does not matter how many there are. */
static u64 round_ns;

static __always_inline void measure_crowd(void)
{
	round_ns = starvation_limit_ns() / 6;
}

/* A slice for so many tasks as are runnable in the shard. A slice without an end stays so: first come, first served. */
static __always_inline u64 slice_in_crowd(u32 shard, u64 slice)
{
	struct machine *m = machine_at(shard);
	u64 takes_ns = m->s.tasks.nrunnable * config.config.quantum, may_take_ns = round_ns * m->s.tasks.ncpus, ratio;

	if (takes_ns <= may_take_ns || !may_take_ns || slice == SLICE_INF)
		return slice;
	/* In 2^-20: the limit is at most 30 s, so that is below 2^63 on 512 CPUs. */
	ratio = (may_take_ns << 20) / takes_ns;
	return ((slice >> 10) * ratio >> 10) + 1;
}

#endif
