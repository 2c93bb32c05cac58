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
#include "../policy.h"
#include "../lib/bits.h"
#include "../lib/nice.h"
#include "../lib/ring.h"

#define POLICY_TITLE "Linux 2.6 before CFS: active and expired arrays, sleepers preferred"
#define POLICY_BASELINE
#define POLICY_HAS INIT | CHARGE | REWEIGH | SLICE | PREEMPTS

#define O1_PRIOS 40u /* 100 to 139, here from 0 */
#define O1_MAX_BONUS 10u
#define O1_MAX_SLEEP_AVG (1000 * MS)
#define O1_DEF_TIMESLICE (100 * MS)
#define O1_MIN_TIMESLICE (5 * MS)
#define O1_GRANULARITY (10 * MS)
#define O1_INTERACTIVE_DELTA 2

struct o1_task {
	u32 prio;
	u32 array;
	u64 time_slice; /* left, ns */
	u64 turn;       /* ns that it ran since it was last in line */
	u64 sleep_avg;  /* ns */
	u64 slept;      /* when it blocked */
};

struct o1 {
	POLICY_STATE;
	struct links waiting;
	u32 queue[2 * 64];     /* first of each list, by array and priority */
	u64 bitmap[2];         /* lists that are not empty, of each array */
	u32 active;            /* 0 or 1; the other is expired */
	u64 expired_timestamp; /* when the first expired since the arrays were swapped, ns; 0: nobody has */
	u64 best_expired_prio; /* static */
	TASKS(o1_task);
};

static inline void o1_init(struct o1 *s)
{
	s->best_expired_prio = O1_PRIOS;
}

/* ---- priorities ---- */

/* 0 for nice -20 to 39 for 19 */
static inline u64 o1_static_prio(const struct o1 *s, u32 id)
{
	return nice_index(weight_of(&s->tasks, id));
}

/* bonus = sleep_avg MAX_BONUS / MAX_SLEEP_AVG (o1 R1) */
static inline u64 o1_bonus(struct o1 *s, u32 id)
{
	return task_of(s, id)->sleep_avg * O1_MAX_BONUS / O1_MAX_SLEEP_AVG;
}

/* prio = static_prio - (bonus - MAX_BONUS/2), within the range (o1 R1) */
static inline u32 o1_effective_prio(u64 static_prio, u64 bonus)
{
	u64 prio = static_prio + O1_MAX_BONUS / 2;

	prio = prio > bonus ? prio - bonus : 0;
	return prio < O1_PRIOS ? prio : O1_PRIOS - 1;
}

/* max(base (140 - static_prio) / 20, 5 ms), base 100 ms from nice 0 on and 400 ms below (o1 R2) */
static inline u64 o1_timeslice(u64 static_prio)
{
	u64 base = static_prio < 20 ? 4 * O1_DEF_TIMESLICE : O1_DEF_TIMESLICE;
	u64 slice = base * (O1_PRIOS - static_prio) / 20;

	return slice > O1_MIN_TIMESLICE ? slice : O1_MIN_TIMESLICE;
}

/* DELTA = nice 10/40 + 2, 8 more so that it is not negative; the quotient is rounded towards 0 as in C */
static inline u64 o1_delta_8(u64 static_prio)
{
	u64 scaled = static_prio < 20 ? 8 - (20 - static_prio) / 4 : 8 + (static_prio - 20) / 4;

	return scaled + O1_INTERACTIVE_DELTA;
}

/* TASK_INTERACTIVE: prio <= static_prio - DELTA (o1 R4) */
static inline bool o1_is_interactive(struct o1 *s, u32 id)
{
	u64 static_prio = o1_static_prio(s, id);

	return task_of(s, id)->prio + o1_delta_8(static_prio) <= static_prio + 8;
}

/* EXPIRED_STARVING: the first expired a second and a tick a runnable task ago, or one of a better nice value has
 * (o1 R5) */
static inline bool o1_starving(struct o1 *s, u32 id, u64 now)
{
	u64 limit = O1_MAX_SLEEP_AVG * s->tasks.nrunnable + MS;

	return (s->expired_timestamp && now - s->expired_timestamp >= limit) ||
	       o1_static_prio(s, id) > s->best_expired_prio;
}

/* TIMESLICE_GRANULARITY: less for the more interactive (o1 R6) */
static inline u64 o1_granularity(struct o1 *s, u32 id)
{
	u64 bonus = o1_bonus(s, id), steps = bonus < O1_MAX_BONUS ? O1_MAX_BONUS - bonus : 1;

	return (O1_GRANULARITY << ((steps - 1) & 15)) * s->tasks.ncpus;
}

/* ---- lists ---- */

static inline u32 *o1_queue(struct o1 *s, u32 array, u32 prio)
{
	return &s->queue[(array & 1) * 64 + (prio & 63)];
}

static inline void o1_note(struct o1 *s, const struct o1_task *t)
{
	u64 bit = 1ull << (t->prio & 63), *bitmap = &s->bitmap[t->array & 1];

	*bitmap = *o1_queue(s, t->array, t->prio) ? *bitmap | bit : *bitmap & ~bit;
}

static inline void o1_enqueue(struct o1 *s, u32 id, u32 array)
{
	struct o1_task *t = task_of(s, id);

	t->array = array;
	t->turn = 0;
	ring_push_back(&s->waiting, o1_queue(s, array, t->prio), id);
	o1_note(s, t);
}

static inline void o1_dequeue(struct o1 *s, u32 id)
{
	struct o1_task *t = task_of(s, id);

	ring_remove(&s->waiting, o1_queue(s, t->array, t->prio), id);
	o1_note(s, t);
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

	if (why == NEW)
		*t = (struct o1_task){ .time_slice = o1_timeslice(static_prio) };
	else
		o1_add_sleep(s, id, now - t->slept);
	if (!t->time_slice)
		t->time_slice = o1_timeslice(static_prio);
	t->prio = o1_effective_prio(static_prio, o1_bonus(s, id));
	o1_enqueue(s, id, s->active);
}

static inline void o1_leave(struct o1 *s, u32 id, u64 now, enum why why)
{
	task_of(s, id)->slept = now;
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
		t->array = s->active;
		ring_push_front(&s->waiting, o1_queue(s, t->array, t->prio), id);
		o1_note(s, t);
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

	turn = t->turn < turn ? turn - t->turn : 1;
	return o1_is_interactive(s, id) && turn < t->time_slice ? turn : t->time_slice;
}

/* TASK_PREEMPTS_CURR: a task that wakes with a better priority takes the CPU (o1 R8). */
static inline bool o1_preempts(struct o1 *s, u32 woken, u32 running, u64 now)
{
	return task_of(s, woken)->prio < task_of(s, running)->prio;
}
