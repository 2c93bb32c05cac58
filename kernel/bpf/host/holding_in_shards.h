/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks are held (holding.h) with several shards. The lock of ids decides which groups are used up (quotas.h), and a task blocks or becomes runnable under the lock
 * of its shard. No two locks are held together, so this takes steps.
 *
 * `held` of a task says whether it is held. It is under the lock of its shard: a task that is held stays there until it is enqueued again. What is under the lock
 * of ids follows it: the rings of tasks that groups hold, and whether the weigher has the task as runnable. Whoever has changed `held` settles both next. So the last
 * one of them does what the last `held` says, in whatever order others come in between. Where the kernel takes the task back, the weigher is told by what follows: it is
 * enqueued again, or sleeps.
 */
#ifndef DIVVY_HOST_HOLDING_IN_SHARDS_H
#define DIVVY_HOST_HOLDING_IN_SHARDS_H

#include "host/moves.h"
#include "host/quotas.h"
#include "host/timers.h"

/* The functions that are not static are checked by the verifier by themselves. No lock is held when one is called. */

/* Under its shard's lock: the kernel takes back a task that is held. */
static __always_inline void take_back_held(u32 id, u64 now)
{
	host_task(id)->move.held = 0;
}

/* `held` of the task has changed. If it is held, it is because of this group. */
NOINLINE int settle_hold(u32 id, u32 group)
{
	u64 now = clock_ns(), due = 0;

	bpf_spin_lock(&lock);
	now = machine_now(weigher(), now);
	if (is_held(id) && group && !limits_holds(&limits, id)) {
		limits_hold(&limits, id, group, false, now);
		due = limits.nheld == 1 ? limits.group[group & GROUP_MASK].ends : 0;
	} else if (!is_held(id) && limits_holds(&limits, id)) {
		limits_free(&limits, id, now);
	}
	bpf_spin_unlock(&lock);
	if (due)
		start_release(until_release(due, now));
	return 0;
}

/* A group around the task that is used up, or 0. It is off its CPU, or its sum_exec is this. 0: it did not run since it was looked at last. */
NOINLINE u32 used_up(u32 id, u64 sum_exec)
{
	u64 now = clock_ns();
	u32 group;

	if (is_free(id)) {
		if (sum_exec)
			host_task(id)->sum_exec_limited = sum_exec;
		return 0;
	}
	bpf_spin_lock(&lock);
	if (sum_exec) {
		count_limited(id, sum_exec);
		limits_settle(&limits, weigher(), id, 0);
	}
	limits_look(&limits, weigher(), id, machine_now(weigher(), now));
	group = limits.found;
	bpf_spin_unlock(&lock);
	return group;
}

/* The answers of block */
enum { NOTHING, HELD, ON_ITS_CPU };

/*
 * The machine is told that the task blocks, and unless it was on its CPU the task is held, and comes back as `how` says. With a CPU it must be on its way there still.
 * The caller is the CPU that has picked the task or runs it, or holds the lock of its run queue. It does the rest, as calls are deep below.
 */
NOINLINE u32 block(u32 id, u32 how, u64 sum_exec, u32 cpu)
{
	struct event e = { .id = id, .now = clock_ns() };
	struct host_task *t = host_task(id);
	u32 shard = shard_of(id), stopping = 0, quiescent = 0;
	struct bpf_spin_lock *lock = lock_of(shard);
	bool is_off;

	if (!lock)
		return NOTHING;
	bpf_spin_lock(lock);
	if (cpu != NO_CPU && (t->sent_to != config.kernel_cpu[cpu & CPU_MASK] + 1u || is_held(id))) {
		bpf_spin_unlock(lock);
		return NOTHING;
	}
	is_off = !tell_stopping(shard, &e, sum_exec);
	if (!is_off)
		stopping = e.seq;
	if (task_in_machine(id)->state & RUNNABLE) {
		e.why = BLOCKED;
		tell_inlined(shard, EVENT_quiescent, &e);
		quiescent = e.seq;
	}
	if (is_off) {
		t->move.held = how | IS_WOKEN;
		t->move.is_visitor = false;
		count(stats.held);
	}
	publish(shard);
	bpf_spin_unlock(lock);
	if (quiescent) {
		e.seq = quiescent;
		log_event(shard, EVENT_quiescent, &e, 0, 0, BLOCKED);
	}
	if (stopping) {
		e.seq = stopping;
		log_event(shard, EVENT_stopping, &e, e.amount, 0, 0);
	}
	return is_off ? HELD : ON_ITS_CPU;
}

/* Returns whether the task may not run. Others' weights that change by that are passed on by whoever dispatches next. */
static __always_inline bool hold(u32 id, u32 group, u32 how, u64 sum_exec, u32 cpu)
{
	u32 what = block(id, how, sum_exec, cpu);

	if (what == NOTHING)
		return false;
	if (what == HELD)
		settle_hold(id, group);
	weigh_out(id, what == HELD ? IF_HELD : ALWAYS);
	return true;
}

/* If a group around the task is used up, it is held. If it is on its CPU, it is held later, when it is enqueued from there. Returns whether that is so. `cpu` is the CPU to which it
 * must be on its way still, or NO_CPU. */
static __always_inline bool hold_back(u32 id, u64 sum_exec, u32 cpu)
{
	u32 group = used_up(id, cpu == NO_CPU ? sum_exec : 0);

	return group && hold(id, group, 0, sum_exec, cpu);
}

/* A task that is held is to come to its shard now. The weigher knows it before. The kernel may take it back at any time, and it may be held anew. `by` is the
 * timer that does this. */
static __always_inline void let_come(u32 id, u32 by)
{
	if (weigh_in(id, IF_HELD))
		tell_weight_again(id);
	if (arrive(id, IS_HELD | IS_WOKEN | by) && shards.steal)
		call_idle(id, by);
	settle_hold(id, 0);
	if (weigh_in(id, IF_RUNNABLE))
		tell_weight_again(id);
}

/* Under its shard's lock, for a rescue: whether the task was held again since it came to its shard. */
static __always_inline bool is_held_again(u32 id)
{
	return is_held(id);
}

static __always_inline bool let_go_held(struct event *e)
{
	return false;
}

/* The first task of the group at this place of the queue, if it may run now: it is no longer in the queue. Else 0, and if no other group holds it now, the next place is
 * next: release_place. */
NOINLINE u32 next_released(void)
{
	u64 now = clock_ns(), ends;
	u32 id;

	bpf_spin_lock(&lock);
	limits.found = 0; /* The queue may be shorter by now. */
	id = limits_next(&limits, weigher(), release_place, machine_now(weigher(), now));
	if (!id && !limits.moved) {
		ends = limits.found ? limits.group[limits.found & GROUP_MASK].ends : SLICE_INF;
		release_due = shorter(release_due, ends);
		release_place++;
	}
	bpf_spin_unlock(&lock);
	return id;
}

static __always_inline void release_next(void)
{
	u32 id = next_released();

	if (id)
		let_come(id, BY_RELEASE);
}

#endif
