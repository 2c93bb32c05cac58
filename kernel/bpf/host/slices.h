/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slices
 */
#ifndef DIVVY_HOST_SLICES_H
#define DIVVY_HOST_SLICES_H

#include "host/tasks.h"

/* The kernel hears of the next tasks only when a slice ends, and kernel threads that have used up theirs wait for it. */
#define LONGEST_SLICE_NS (100 * MS)

static __always_inline u64 slice_of(u64 turn)
{
	return turn < LONGEST_SLICE_NS ? turn : LONGEST_SLICE_NS;
}

/* What is left of its turn if that is not over: the kernel had changed an attribute of it, or a kernel thread went
 * first. 0 if it is over. */
static __always_inline u64 rest_of_turn(const struct task_struct *p, u32 id)
{
	const struct fact *t = fact(&machine, id);
	u64 used = p->se.sum_exec_runtime - host_task(id)->turn_from;

	if ((t->state & (PICKED | PARKED)) != PICKED || t->cpu != machine_cpu(scx_bpf_task_cpu(p)))
		return 0;
	if (machine.why[t->cpu & CPU_MASK])
		return 0;
	return used < host_task(id)->turn ? host_task(id)->turn - used : 0;
}

/* The kernel looks at slices at its ticks, and ends a turn at the first tick after its slice. Of a slice that is half
 * a tick less it ends the turn at the tick that is nearest. */
static __always_inline u64 until_nearest_tick(u64 slice)
{
	u64 half = config.tick_ns / 2;

	return slice > half ? slice - half : 1;
}

/* Of a policy that counts turns: what the last turn was too short or too long by because it had to end at a tick, or
 * because a real-time task took the CPU. This turn is longer or shorter by that, so a task is never far from what its
 * turns add up to. A turn that ended otherwise was shorter by more than a tick, or by too little to matter. */
static __always_inline u64 carried(const struct host_task *t, u64 used)
{
#ifdef POLICY_COUNTS_TURNS
	s64 rest = t->wanted - used, most = t->interrupted ? LONGEST_SLICE_NS : config.tick_ns;

	return rest <= most && rest >= -(s64)config.tick_ns ? rest : 0;
#else
	return 0;
#endif
}

/* Returns the slice for the kernel. */
static __always_inline u64 begin_turn(const struct task_struct *p, const struct event *e)
{
	struct host_task *t = host_task(e->id);
	u64 ran = p->se.sum_exec_runtime;

	t->wanted = e->slice == SLICE_INF ? SLICE_INF : e->slice + carried(t, ran - t->turn_from);
	t->turn = t->wanted == SLICE_INF ? SLICE_INF : until_nearest_tick(t->wanted);
	t->turn_from = ran;
	t->interrupted = false;
	return slice_of(t->turn);
}

/* A turn that is longer than the longest slice takes another one. */
static __always_inline bool goes_on(struct task_struct *prev)
{
	u32 id = prev ? id_of(prev) : 0;
	u64 rest;

	if (!id || host_task(id)->turn <= LONGEST_SLICE_NS || !(prev->scx.flags & SCX_TASK_QUEUED))
		return false;
	rest = rest_of_turn(prev, id);
	if (rest)
		prev->scx.slice = slice_of(rest);
	return rest;
}

#endif
