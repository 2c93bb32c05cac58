/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks are held while a cgroup around them has used up its limit of CPU time (groups R10). The machine knows nothing of limits: a task
 * that may not run has blocked for it, and wakes when it may. So policies, modifiers and the decision log are as they are without limits.
 * For the kernel the task stays runnable, in the custody of the host.
 *
 * A task is looked at when it is enqueued, when a dispatch answers it, and before the dispatch after its slice. A timer lets go those
 * whose groups have a new period: at its end, or a tick later at most. At one time it looks at so many tasks, and then goes on after a
 * moment, so that other interrupts do not wait.
 *
 * A task that is held still gets moments within the starvation limit (starvation.h), which are debts of its groups.
 */
#ifndef DIVVY_HOST_HOLDING_H
#define DIVVY_HOST_HOLDING_H

#include "host/slices.h"
#include "host/stopping.h"
#include "host/timers.h"

/* Tasks that the timer looks at at one time. With several shards each of them takes several locks in turn. */
#ifdef DIVVY_SHARDS
#define MOST_RELEASES 16
#else
#define MOST_RELEASES 64
#endif

/* The timer's own: the next place in the queue of groups with tasks that are held, and how often it may look once more */
static u32 release_place;
static u32 releases_left;
/* When the first of the groups that it looked at has a new period */
static u64 release_due;

static __always_inline u64 until_release(u64 due, u64 now)
{
	s64 left = due - now;

	if (left > (s64)config.tick_ns)
		left = config.tick_ns;
	return left > (s64)SHORTEST_TIMER_NS ? left : SHORTEST_TIMER_NS;
}

static __always_inline void start_release(u64 in_ns)
{
	struct host_timer *t = find_timer(RELEASE_TIMER);

	if (t)
		bpf_timer_start(&t->timer, in_ns, 0);
}

#ifdef DIVVY_SHARDS
#include "host/holding_in_shards.h"
#else
/*
 * If a group around the task is used up, the machine is told that it blocks, and it is held; one that is on its CPU is held when it is
 * enqueued from there. Returns whether it is. `cpu` is the CPU for which it must be picked still, or NO_CPU. The lock is not held. Not
 * static: the verifier checks it by itself.
 */
NOINLINE bool hold_back(u32 id, u64 sum_exec, u32 cpu)
{
	struct event stopping = { .id = id, .now = clock_ns() }, e = stopping;
	bool stopped, left, is_first;
	u64 due;

	bpf_spin_lock(&lock);
	if (cpu != NO_CPU && machine_at(0)->s.tasks.picked[cpu & CPU_MASK] != id) {
		bpf_spin_unlock(&lock);
		return false;
	}
	count_limited(id, sum_exec);
	limits_settle(&limits, machine_at(0), id, 0);
	limits_look(&limits, machine_at(0), id, machine_now(machine_at(0), e.now));
	if (!limits.found || is_held(id)) {
		bpf_spin_unlock(&lock);
		return limits.held[id & POOL_MASK];
	}
	stopped = tell_stopping(0, &stopping, sum_exec);
	left = machine_task(machine_at(0), id)->state & RUNNABLE;
	e.why = BLOCKED;
	if (left)
		tell_inlined(0, EVENT_quiescent, &e);
	stats.runnable = machine_at(0)->s.tasks.nrunnable;
	if (!stopped) {
		limits_hold(&limits, id, limits.found, false, e.now);
		stats.held++;
	}
	is_first = !stopped && limits.nheld == 1;
	due = limits.group[limits.found & GROUP_MASK].ends;
	bpf_spin_unlock(&lock);
	if (is_first)
		start_release(until_release(due, e.now));
	if (stopped)
		log_event(0, EVENT_stopping, &stopping, stopping.amount, 0, 0);
	if (left)
		log_event(0, EVENT_quiescent, &e, 0, 0, BLOCKED);
	return true;
}

/* Under the lock: the machine has a task again that was held. */
static __always_inline void tell_runnable(struct event *e)
{
	struct host_task *t = host_task(e->id);

	e->why = t->was_runnable ? WOKEN : NEW;
	tell_inlined(0, EVENT_runnable, e);
	t->was_runnable = true;
	count(stats.wakes);
}

/* Under the lock: the kernel takes back a task that is held. */
static __always_inline void take_back_held(u32 id, u64 now)
{
	limits_free(&limits, id, now);
}

static __always_inline void settle_hold(u32 id, u32 group)
{
}

/* Under the lock: the same of one that may not run yet, and runs for a moment. Returns whether the task was held. */
static __always_inline bool let_go_held(struct event *e)
{
	if (!is_held(e->id))
		return false;
	limits_free(&limits, e->id, e->now);
	tell_runnable(e);
	return true;
}

static __always_inline bool is_held_again(u32 id)
{
	return false;
}

/* Looks at the first task of the group at this place of the queue, and lets it go if it may run. Returns whether the next place is
 * next. Takes the lock. */
NOINLINE bool release_one(u32 place)
{
	struct event runnable = { .now = clock_ns() }, e = runnable;
	bool is_done;
	u64 ends;

	bpf_spin_lock(&lock);
	runnable.id = limits_next(&limits, machine_at(0), place, machine_now(machine_at(0), runnable.now));
	if (!runnable.id) {
		is_done = !limits.moved;
		ends = limits.group[limits.found & GROUP_MASK].ends;
		if (is_done && ends < release_due)
			release_due = ends;
		bpf_spin_unlock(&lock);
		return is_done;
	}
	e.id = runnable.id;
	tell_runnable(&runnable);
	tell(0, EVENT_enqueue, &e);
	host_task(e.id)->enqueued = e.now;
	bpf_spin_unlock(&lock);
	log_event(0, EVENT_runnable, &runnable, 0, 0, runnable.why);
	log_event(0, EVENT_enqueue, &e, 0, 0, 0);
	kick(0, e.cpu);
	return false;
}

static __always_inline void release_next(void)
{
	release_place += release_one(release_place);
}

#endif

/* The slice of the task that ran on this CPU is over, and the policy is asked next. */
static __always_inline void end_limited_slice(struct task_struct *prev)
{
	u32 id = stays_runnable(prev) ? id_of(prev) : 0;

	if (!id || !(task_in_machine(id)->state & ON_CPU))
		return;
	if (limits.on)
		hold_back(id, prev->se.sum_exec_runtime, NO_CPU);
	else /* what it ran before there was a limit */
		host_task(id)->sum_exec_limited = prev->se.sum_exec_runtime;
}

static int release_held(void *map, u32 *key, struct host_timer *t)
{
	u64 next = SHORTEST_TIMER_NS;

	if (!config.limits)
		return 0;
	if (!release_place)
		release_due = SLICE_INF;
	releases_left = MOST_RELEASES;
	while (releases_left && release_place < limits.nqueue && can_loop) {
		releases_left--;
		release_next();
	}
	pass_on();
	if (release_place >= limits.nqueue) {
		next = until_release(release_due, clock_ns());
		release_place = 0;
	}
	if (limits.nheld)
		bpf_timer_start(&t->timer, next, 0);
	return 0;
}

/* Always: a callback that the verifier has not seen counts as frames of its caller. */
static __always_inline s32 prepare_release_timer(void)
{
	struct host_timer *t = find_timer(RELEASE_TIMER);

	if (!t)
		return 0;
	return bpf_timer_init(&t->timer, &timers, CLOCK_MONOTONIC) ?: bpf_timer_set_callback(&t->timer, release_held);
}

#endif
