/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1: the O(1) scheduler of Linux 2.6 before CFS. Two arrays of lists by priority; a task that has used its time slice up
 * goes to the expired one; a task that sleeps much has a better priority, and may stay.
 *
 * Linux 2.6.8 to 2.6.22, kernel/sched.c, whose names these are: papers/o1.md.
 *
 * It follows kernel/sched.c of Linux 2.6.8 to 2.6.22 closely: its names, constants and formulas. So it has the
 * kernel's licence, GPL-2.0-only, and no other.
 */
#include "o1/family.h"
#include "o1/state.h"

#define POLICY_TITLE "Linux 2.6 before CFS: active and expired arrays, sleepers preferred"
#define POLICY_LICENSE "GPL"
#define POLICY_BASELINE
#define POLICY_HAS INIT | CHARGE | REWEIGH | SLICE | PREEMPTS | FORK

#define POLICY_SHOWS(V) \
	V("priority", "", task_of(s, id)->prio) \
	V("sleep average", "ns", task_of(s, id)->sleep_avg) \
	V("time slice", "ns", task_of(s, id)->time_slice)

static inline void o1_init(struct o1 *s)
{
	s->best_expired_prio = O1_PRIOS;
}

/* ---- sleep ---- */

/* INTERACTIVE_SLEEP: a longer sleep does not make a task more than just interactive */
static inline u64 o1_interactive_sleep(u64 static_prio)
{
	u64 tenths = O1_MAX_BONUS / 2 + o1_delta_8(static_prio) + 1;

	return tenths > 8 ? O1_MAX_SLEEP_AVG / O1_MAX_BONUS * (tenths - 8) - MS : 0;
}

/* Sleep counts 10 - bonus times, at least once, up to a second; after a long one all but a time slice of that (o1 R3). */
static inline void o1_add_sleep(struct o1 *s, u32 id, u64 sleep)
{
	struct o1_task *t = task_of(s, id);
	u64 bonus = o1_bonus(s, id);

	if (sleep > O1_MAX_SLEEP_AVG)
		sleep = O1_MAX_SLEEP_AVG;
	if (sleep > o1_interactive_sleep(o1_static_prio(s, id))) {
		t->sleep_avg = O1_MAX_SLEEP_AVG - O1_DEF_TIMESLICE;
		return;
	}
	t->sleep_avg += sleep * (bonus < O1_MAX_BONUS ? O1_MAX_BONUS - bonus : 1);
	if (t->sleep_avg > O1_MAX_SLEEP_AVG)
		t->sleep_avg = O1_MAX_SLEEP_AVG;
}

/* ---- the calls ---- */

static inline void o1_join(struct o1 *s, u32 id, u64 now, enum why why)
{
	struct o1_task *t = task_of(s, id);
	u64 static_prio = o1_static_prio(s, id);

	if (why == WOKEN)
		o1_add_sleep(s, id, now - t->slept);
	if (!t->time_slice) {
		t->time_slice = o1_timeslice(static_prio);
		t->first_time_slice = false;
	}
	if (t->goes_first) {
		o1_enqueue_first(s, id);
	} else {
		t->prio = o1_effective_prio(static_prio, o1_bonus(s, id));
		o1_enqueue(s, id, s->active);
	}
}

static inline void o1_leave(struct o1 *s, u32 id, u64 now, enum why why)
{
	task_of(s, id)->slept = now;
	task_of(s, id)->goes_first = false;
	if (why == EXITED)
		o1_exit(s, id);
	if (!is_picked(&s->tasks, id))
		o1_dequeue(s, id);
}

/* The first of the best priority of the active array; when that is empty they are swapped (o1 R7). */
static inline u32 o1_pick(struct o1 *s, u32 cpu, u64 now)
{
	u32 id;

	if (!s->bitmap[s->active & 1]) {
		s->active ^= 1;
		s->expired_timestamp = 0;
		s->best_expired_prio = O1_PRIOS;
	}
	if (!s->bitmap[s->active & 1])
		return 0;
	id = *o1_queue(s, s->active, lowest_bit(s->bitmap[s->active & 1]));
	o1_dequeue(s, id);
	task_of(s, id)->goes_first = false;
	return id;
}

/* Running takes from the sleep average, the less the better the bonus is (o1 R3). */
static inline void o1_charge(struct o1 *s, u32 id, u64 ran, u64 now)
{
	struct o1_task *t = task_of(s, id);
	u64 bonus = o1_bonus(s, id), less = ran < O1_MAX_SLEEP_AVG ? ran : O1_MAX_SLEEP_AVG;

	if (bonus)
		less /= bonus;
	t->sleep_avg = t->sleep_avg > less ? t->sleep_avg - less : 0;
	t->time_slice = t->time_slice > ran ? t->time_slice - ran : 0;
	t->turn += ran;
}

/* Its time slice is used up: a new one, and to the expired array, unless it is interactive and nobody starves there
 * (o1 R4, R5). */
static inline void o1_expire(struct o1 *s, u32 id, u64 now)
{
	struct o1_task *t = task_of(s, id);
	u64 static_prio = o1_static_prio(s, id);

	t->prio = o1_effective_prio(static_prio, o1_bonus(s, id));
	t->time_slice = o1_timeslice(static_prio);
	t->first_time_slice = false;
	if (!s->expired_timestamp)
		s->expired_timestamp = now;
	if (o1_is_interactive(s, id) && !o1_starving(s, id, now)) {
		o1_enqueue(s, id, s->active);
		return;
	}
	if (static_prio < s->best_expired_prio)
		s->best_expired_prio = static_prio;
	o1_enqueue(s, id, s->active ^ 1);
}

/* A task that yields is expired, one that was interrupted is first of its list, and interactive ones take turns
 * (o1 R6). */
static inline void o1_stop(struct o1 *s, u32 id, u64 now, enum why why)
{
	struct o1_task *t = task_of(s, id);

	if (!t->time_slice) {
		o1_expire(s, id, now);
	} else if (why == YIELDED) {
		o1_enqueue(s, id, s->active ^ 1);
	} else if (o1_is_interactive(s, id) && t->turn >= o1_granularity(s, id)) {
		o1_enqueue(s, id, s->active);
	} else {
		o1_interrupted(s, id);
	}
}

/* Another nice value is another priority at once (o1 R1). */
static inline void o1_reweigh(struct o1 *s, u32 id, u64 w, u64 now)
{
	struct o1_task *t = task_of(s, id);
	bool waits = !is_picked(&s->tasks, id);

	if (waits)
		o1_dequeue(s, id);
	t->prio = o1_effective_prio(nice_index(w), o1_bonus(s, id));
	if (waits)
		o1_enqueue(s, id, t->array);
}

/* The time slice, or for the interactive as much of it as is their turn (o1 R6) */
static inline u64 o1_slice(struct o1 *s, u32 id)
{
	struct o1_task *t = task_of(s, id);
	u64 turn = o1_granularity(s, id);
	u64 left = t->time_slice ? t->time_slice : 1; /* flow asks once more when it is used up */

	turn = t->turn < turn ? turn - t->turn : 1;
	return o1_is_interactive(s, id) && turn < left ? turn : left;
}

/* TASK_PREEMPTS_CURR: a task that wakes with a better priority takes the CPU, and a new process that of its parent (o1 R8,
 * R9). */
static inline bool o1_preempts(struct o1 *s, u32 woken, u32 running, u64 now)
{
	const struct o1_task *t = task_of(s, woken);

	return t->prio < task_of(s, running)->prio || (t->goes_first && t->parent == running);
}
