/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The starvation limit. A policy may let a task wait for longer than the kernel's watchdog permits, which then throws
 * the scheduler out: a weight of 15 beside many of 88761, or first come, first served. So a timer looks for tasks that
 * starve, and sends one at a time to a CPU, where it runs out of order for a moment: it is rescued. The machine is told
 * that the task is out of its custody for so long, and charges the moment in the task's next slice: no share changes.
 *
 * The rate follows the load (rescue_rate.h). In order to be in time, a task starves when it has waited for the limit without the n
 * rescues that may come first. A hand goes around the ids, so that everybody has a turn. The moment may be shorter than a tick; then
 * the timer ends it. The fallback DSQ has no ids: if q tasks wait there, each CPU takes one every limit / 2q at least.
 *
 * The timer reads the machine without the lock, as a hint; dispatch checks the task again under the lock.
 */
#ifndef DIVVY_HOST_STARVATION_H
#define DIVVY_HOST_STARVATION_H

#include "host/cpu_queues.h"
#include "host/decision_log.h"
#include "host/events.h"
#include "host/fallback.h"
#include "host/holding.h"
#include "host/taken_cpus.h"

/* From one look to the next if nobody starves, at most; the limit may be exceeded by so much. */
#define STARVATION_CHECK_NS (1000 * MS)
/* Times that a CPU is asked for a rescue before another task is looked for: a real-time task may have the CPU. */
#define MOST_KICKS 4
/* Tasks that one look passes over because their CPUs have others to rescue: each of them costs a walk over the CPUs. A power of two. */
#define MOST_PASSED_OVER 8

/* Tasks that were passed over: they go first, so that they do not lose their turn. */
static u32 passed_over[MOST_PASSED_OVER];

/* The timer's own: the last id and CPU that were looked at, how many were, how many tasks were passed over, the last rescue, how often
 * its CPU was asked, and whether its moment is over */
static u32 hand;
static u32 looked;
static u32 tried;
static u32 passed;
static u32 rescuer;
static u32 rescued;
static u32 kicked;
static bool is_over;

/* A task starves by its time without a CPU: a change of its attributes enqueues it again, and the kernel's watchdog
 * does not count from there. */
static __always_inline bool starves(u32 id, u64 now)
{
	u64 limit = starvation_limit_ns(), since = host_task(id)->waiting_since;

	/* The sums over all shards are made only for those that may starve. */
	if (!(task_in_machine(id)->state & CUSTODY || is_held(id)) || !since || (s64)(now - since) <= (s64)(limit / 2))
		return false;
	return (s64)(now - since) > (s64)(limit - shorter(rescue_ns() * waiting_tasks(), limit / 2));
}

/* The next CPU that may run it and has nobody else to rescue, into rescuer; if there is none, nobody is rescued. */
static NOINLINE void find_rescuer(void)
{
	for (tried = 0; tried < config.config.ncpus && can_loop; tried++) {
		u32 due;

		rescuer = rescuer + 1 < config.config.ncpus ? rescuer + 1 : 0;
		due = host_cpu(rescuer)->to_rescue;
		if ((!due || due == rescued) && may_run(rescued, rescuer)) {
			host_cpu(rescuer)->to_rescue = rescued;
			return;
		}
	}
	rescued = 0;
}

static __always_inline void pass_over(u32 id)
{
	for (tried = 0; tried < MOST_PASSED_OVER && can_loop; tried++) {
		u32 *place = &passed_over[tried & (MOST_PASSED_OVER - 1)];

		if (!*place || *place == id) {
			*place = id;
			return;
		}
	}
}

/* Among those that were passed over, into rescued; 0 if there is none. */
static NOINLINE void find_passed_over(u64 now)
{
	for (looked = 0; looked < MOST_PASSED_OVER && !rescued && can_loop; looked++) {
		u32 id = passed_over[looked & (MOST_PASSED_OVER - 1)];

		if (!id)
			continue;
		if (starves(id, now)) {
			rescued = id;
			find_rescuer();
			if (!rescued)
				continue;
		}
		passed_over[looked & (MOST_PASSED_OVER - 1)] = 0;
	}
}

/* The next task that starves and has a rescuer, into rescued; 0 if there is none: one that was passed over, or one from the hand on. The
 * hand goes on in any case, so that everybody has a turn. */
static NOINLINE void find_starved(u64 now)
{
	rescued = 0;
	passed = 0;
	find_passed_over(now);
	for (looked = 0; looked < last_id && !rescued && passed < MOST_PASSED_OVER && can_loop; looked++) {
		hand = hand < last_id ? hand + 1 : 1;
		if (!starves(hand, now))
			continue;
		rescued = hand;
		find_rescuer();
		if (!rescued) {
			passed++;
			pass_over(hand);
		}
	}
}

/* Its CPU has not dispatched it yet; first may come what was in the local queue. */
static __always_inline bool is_rescue_due(void)
{
	return rescued && host_cpu(rescuer)->to_rescue == rescued;
}

/* It runs, and not because the policy picked it meanwhile; or the policy did, and it has no slice, because its groups are used up. */
static __always_inline bool is_rescue_running(void)
{
	u16 state = task_in_machine(rescued)->state;

	if (!rescued || !(state & ON_CPU))
		return false;
	return (state & (PICKED | PARKED)) != PICKED || (config.limits && host_task(rescued)->cut_ns == 1);
}

/* Ends its moment. */
static __always_inline void kick_rescued(void)
{
	u32 sent_to = host_task(rescued)->sent_to;

	if (sent_to)
		scx_bpf_kick_cpu(sent_to - 1, SCX_KICK_PREEMPT);
}

static __always_inline void kick_rescuer(void)
{
	kicked++;
	scx_bpf_kick_cpu(config.kernel_cpu[rescuer & CPU_MASK], SCX_KICK_PREEMPT);
}

/* Begins a rescue, or asks for the last one again. */
static __always_inline void rescue(void)
{
	u32 due = is_rescue_due() ? rescued : 0, its_rescuer = rescuer;
	u64 now = clock_ns();

	/* It may have run elsewhere. */
	if (due && !starves(due, now)) {
		host_cpu(rescuer)->to_rescue = 0;
		due = 0;
	}
	if (!due || kicked >= MOST_KICKS) {
		kicked = 0;
		find_starved(now);
		if (!rescued && due) {
			rescued = due;
			rescuer = its_rescuer;
		}
	}
	if (!rescued)
		return;
#ifdef DIVVY_SHARDS
	/* A task that is held comes to its shard before it is rescued. */
	if (is_held(rescued))
		let_come(rescued, BY_RESCUE);
#endif
	kick_rescuer();
}

static int check_starvation(void *map, u32 *key, struct host_timer *t)
{
	u64 each = rescue_ns(), slice = rescue_slice_ns(each), next = is_over ? each - slice : slice;

	look_at_fallback();
	if (fallback_waiting)
		rescue_fallback(clock_ns());
	if (!is_over)
		rescue();
	else if (is_rescue_due())
		kick_rescuer();
	else if (is_rescue_running())
		kick_rescued();
	is_over = rescued && !is_over;
	if (!rescued && !passed)
		next = shorter(STARVATION_CHECK_NS, starvation_limit_ns() / 8);
	if (fallback_waiting)
		next = shorter(next, fallback_every_ns() / 2);
	bpf_timer_start(&t->timer, next > SHORTEST_TIMER_NS ? next : SHORTEST_TIMER_NS, 0);
	return 0;
}

static __always_inline s32 start_starvation_timer(void)
{
	struct host_timer *t = find_timer(STARVATION_TIMER);

	if (!t || !config.starvation_limit_ms)
		return 0;
	return bpf_timer_init(&t->timer, &timers, CLOCK_MONOTONIC) ?:
	       bpf_timer_set_callback(&t->timer, check_starvation) ?:
	       bpf_timer_start(&t->timer, MS, 0);
}

/* Sends the task that this CPU is to rescue, if it still starves. */
static __always_inline bool dispatch_starved(s32 kernel_cpu, u32 cpu)
{
	struct event e = { .id = host_cpu(cpu)->to_rescue, .now = clock_ns() };
	u32 shard = shard_of(e.id);
	struct bpf_spin_lock *lock;
	bool here, held;

	if (!e.id)
		return false;
	host_cpu(cpu)->to_rescue = 0;
	lock = lock_of(shard);
	if (!lock)
		return false;
	bpf_spin_lock(lock);
	here = shard == shard_of(e.id) && starves(e.id, e.now) && may_run(e.id, cpu) && !is_held_again(e.id);
	held = here && let_go_held(&e);
	if (here) {
		if (!held)
			tell(shard, EVENT_dequeue, &e);
		count(stats.rescues);
		host_task(e.id)->sent_to = kernel_cpu + 1;
		host_task(e.id)->cut_ns = 0;
#ifdef DIVVY_SHARDS
		change_visitor(cpu, e.id);
#endif
		publish(shard);
	}
	bpf_spin_unlock(lock);
	if (!here)
		return false;
	log_event(shard, held ? EVENT_runnable : EVENT_dequeue, &e, 0, 0, e.why);
	if (shard != shard_of_cpu(cpu))
		take_cpu(cpu); /* for its machine */
	e.slice = rescue_slice_ns(rescue_ns());
	return send(&e, kernel_cpu, &host_cpu(cpu)->late);
}

#endif
