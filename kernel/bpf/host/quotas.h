/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Limits of CPU time on cgroups, cpu.max (groups R7 to R10): what tasks take from their groups' quotas. The rules are in policy/limits.h;
 * holding.h holds back tasks whose groups are used up, and bandwidth.h reads the limits from the kernel.
 *
 * With a limit on a group, a slice of a task in it is taken from the quota when it is dispatched, and what the task did not use is given
 * back when it is off its CPU. Time is sum_exec, as in an account.
 *
 * Without --cgroups config.limits is 0, and the verifier leaves all of this out.
 */
#ifndef DIVVY_HOST_QUOTAS_H
#define DIVVY_HOST_QUOTAS_H

#include "host/tasks.h"
#include "limits.h"

struct limits limits;

/* There was a limit at least once. Without the lock it is a hint. */
static __always_inline bool has_limits(void)
{
	return config.limits && limits.on;
}

/* Whether it is held because a group around it is used up. Without the lock it is a hint. */
static __always_inline bool is_held(u32 id)
{
	return config.limits && limits_holds(&limits, id);
}

/* Under the lock: what the task ran until its sum_exec was this. */
static __always_inline void count_limited(u32 id, u64 sum_exec)
{
	limits.used[id & POOL_MASK] += sum_exec - host_task(id)->sum_exec_limited;
	host_task(id)->sum_exec_limited = sum_exec;
}

/* Under the lock: it is off its CPU, and the machine knows. Its slice may go on. */
static __always_inline void limited_off(u32 id, u64 sum_exec)
{
	if (!has_limits())
		return;
	count_limited(id, sum_exec);
	limits_off(&limits, machine_at(0), id, 0);
}

/* Under the lock: the same of one that is no longer runnable. */
static __always_inline void limited_leaves(u32 id, u64 sum_exec, u64 now)
{
	if (!has_limits())
		return;
	limited_off(id, sum_exec);
	if (is_held(id))
		limits_free(&limits, id, now);
}

/* Under the lock: whether the task that a dispatch answered may run. Its slice is taken from its groups, and is no longer than they have
 * left. One that is on its CPU was looked at a moment ago; if its groups were used up since, it runs until the next tick. */
static __always_inline bool admit(const struct event *e)
{
	struct host_task *t = host_task(e->id);
	u64 most;

	t->cut_ns = 0;
	if (!e->id || !has_limits())
		return true;
	limits_settle(&limits, machine_at(0), e->id, 0);
	limits_look(&limits, machine_at(0), e->id, e->now);
	if (limits.found && !(machine_task(machine_at(0), e->id)->state & ON_CPU))
		return false;
	most = limits.found ? 1 : limits.room;
	if (most == SLICE_INF)
		return true;
	t->cut_ns = e->slice < most ? e->slice : most;
	limits_take(&limits, machine_at(0), e->id, t->cut_ns);
	return true;
}

/* Whether a group around the task has a limit. Without the lock it is a hint. */
static NOINLINE bool is_limited(u32 id)
{
	u32 at = machine_at(0)->groups.of[id & POOL_MASK];

	while (at != ROOT && can_loop) {
		if (limits.group[at & GROUP_MASK].quota)
			return true;
		at = machine_at(0)->groups.group[at & GROUP_MASK].parent;
	}
	return false;
}

/* Whether something is left of what was taken for its slice */
static __always_inline bool has_taken(u32 id)
{
	return limits.taken[id & POOL_MASK] > limits.used[id & POOL_MASK];
}

/* Whether its slice may go on: it was taken from the groups around the task, or there is no limit. */
static __always_inline bool may_go_on(u32 id)
{
	return !has_limits() || has_taken(id) || !is_limited(id);
}

#endif
