/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Limits of CPU time on cgroups, cpu.max (groups R7 to R10): what tasks take from their groups' quotas. The rules are in policy/limits.h;
 * holding.h holds back tasks whose groups are used up, and bandwidth.h reads the limits from the kernel.
 *
 * With a limit on a group, a slice of a task in it is taken from the quota when it is dispatched, and what the task did not use is given
 * back when it is off its CPU. Time is sum_exec, as in an account.
 *
 * With several shards limits and what is taken from them are under the lock of ids, and the groups are the weigher's. A function that ends in
 * _apart is for them, and takes that lock: so no lock is held when it is called. With one shard it is empty.
 *
 * Without --cgroups config.limits is 0, and the verifier leaves all of this out.
 */
#ifndef DIVVY_HOST_QUOTAS_H
#define DIVVY_HOST_QUOTAS_H

#include "host/tasks.h"
#include "host/weighing.h"
#include "limits.h"

struct limits limits;

/* There was a limit at least once. Without the lock it is a hint. */
static __always_inline bool has_limits(void)
{
	return config.limits && limits.on;
}

/* Whether it is held because a group around it is used up. Without the lock, or with several shards the task's shard's, it is a hint. */
static __always_inline bool is_held(u32 id)
{
#ifdef DIVVY_SHARDS
	return config.limits && host_task(id)->move.held;
#else
	return config.limits && limits_holds(&limits, id);
#endif
}

/* Under the lock: what the task ran until its sum_exec was this. */
static __always_inline void count_limited(u32 id, u64 sum_exec)
{
	limits.used[id & POOL_MASK] += sum_exec - host_task(id)->sum_exec_limited;
	host_task(id)->sum_exec_limited = sum_exec;
}

/* Whether a group around the task has a limit. Without the lock it is a hint. */
static NOINLINE bool is_limited(u32 id)
{
	u32 at = weigher()->groups.of[id & POOL_MASK];

	while (at != ROOT && can_loop) {
		if (limits.group[at & GROUP_MASK].quota)
			return true;
		at = weigher()->groups.group[at & GROUP_MASK].parent;
	}
	return false;
}

#ifdef DIVVY_SHARDS
/* starvation.h: the task that is rescued now, or 0 */
static u32 rescued;

static __always_inline void limited_off(u32 id, u64 sum_exec)
{
}

/* Under its shard's lock: it is no longer runnable. */
static __always_inline void limited_leaves(u32 id, u64 sum_exec, u64 now)
{
	host_task(id)->move.held = 0;
}

static __always_inline bool admit(const struct event *e)
{
	host_task(e->id)->cut_ns = 0;
	return true;
}

/* Whether limits have nothing to do with the task: then nobody takes the lock of ids for it, which all shards share. Without that lock. */
static __always_inline bool is_free(u32 id)
{
	return limits.taken[id & POOL_MASK] == limits.used[id & POOL_MASK] && !is_limited(id) &&
	       !limits_holds(&limits, id);
}

/* It is off its CPU, and its shard knows. If it is gone it is held no more. Not static: the verifier checks it by itself. */
NOINLINE int count_off(u32 id, u64 sum_exec, bool goes_on, bool is_gone)
{
	u64 now = clock_ns();

	if (is_free(id)) {
		host_task(id)->sum_exec_limited = sum_exec;
		return 0;
	}
	bpf_spin_lock(&lock);
	count_limited(id, sum_exec);
	if (!goes_on)
		limits_end_slice(&limits, weigher(), id);
	if (is_gone && limits_holds(&limits, id))
		limits_free(&limits, id, machine_now(weigher(), now));
	bpf_spin_unlock(&lock);
	return 0;
}

static __always_inline void limited_off_apart(u32 id, u64 sum_exec, bool goes_on)
{
	if (has_limits())
		count_off(id, sum_exec, goes_on, false);
}

static __always_inline void limited_leaves_apart(u32 id, u64 sum_exec)
{
	if (has_limits())
		count_off(id, sum_exec, false, true);
}

/* See admit, below. A CPU that dispatches calls this. If the kernel has taken the task back, it is not sent, and nothing is taken. One that is rescued runs, whichever CPU
 * was faster than its rescuer. Not static either. */
NOINLINE bool admit_slice(u32 id, u64 slice, s32 kernel_cpu)
{
	struct host_task *t = host_task(id);
	u64 now = clock_ns(), most;

	if (is_free(id))
		return true;
	bpf_spin_lock(&lock);
	if (t->sent_to != kernel_cpu + 1u) {
		bpf_spin_unlock(&lock);
		return true;
	}
	limits_settle(&limits, weigher(), id, 0);
	limits_look(&limits, weigher(), id, machine_now(weigher(), now));
	if (limits.found && !(task_in_machine(id)->state & ON_CPU) && !(id == rescued && t->waiting_since)) {
		bpf_spin_unlock(&lock);
		return false;
	}
	most = limits.found ? 1 : limits.room;
	if (most != SLICE_INF) {
		t->cut_ns = slice < most ? slice : most;
		limits_take(&limits, weigher(), id, t->cut_ns);
	}
	bpf_spin_unlock(&lock);
	return true;
}

static __always_inline bool admit_apart(const struct event *e, s32 kernel_cpu)
{
	return !e->id || !has_limits() || admit_slice(e->id, e->slice, kernel_cpu);
}
#else
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

static __always_inline void limited_off_apart(u32 id, u64 sum_exec, bool goes_on)
{
}

static __always_inline void limited_leaves_apart(u32 id, u64 sum_exec)
{
}

static __always_inline bool admit_apart(const struct event *e, s32 kernel_cpu)
{
	return true;
}
#endif

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
