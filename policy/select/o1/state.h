/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1: what it keeps of tasks, their priorities, and the lists of both arrays.
 *
 * It follows kernel/sched.c of Linux 2.6.8 to 2.6.22 closely: its names, constants and formulas. So it has the
 * kernel's licence, GPL-2.0-only, and no other.
 */
#ifndef DIVVY_O1_STATE_H
#define DIVVY_O1_STATE_H

#include "../../policy.h"
#include "../../lib/bits.h"
#include "../../lib/nice.h"
#include "../../lib/ring.h"

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
	u64 number;     /* of all tasks so far: ids come again */
	u64 parents_number;
	u32 parent;
	u32 child;             /* it is to run before this one, which made it */
	bool goes_first;       /* it is that child */
	bool first_time_slice; /* it has what is left of its parent's */
};

struct o1 {
	POLICY_STATE;
	struct links waiting;
	u32 queue[2 * 64];     /* first of each list, by array and priority */
	u64 bitmap[2];         /* lists that are not empty, of each array */
	u32 active;            /* 0 or 1; the other is expired */
	u64 expired_timestamp; /* when the first expired since the arrays were swapped, ns; 0: nobody has */
	u64 best_expired_prio; /* static */
	u64 number;            /* tasks so far */
	TASKS(o1_task);
};

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

/* First of its list */
static inline void o1_enqueue_first(struct o1 *s, u32 id)
{
	struct o1_task *t = task_of(s, id);

	t->array = s->active;
	ring_push_front(&s->waiting, o1_queue(s, t->array, t->prio), id);
	o1_note(s, t);
}

static inline void o1_dequeue(struct o1 *s, u32 id)
{
	struct o1_task *t = task_of(s, id);

	ring_remove(&s->waiting, o1_queue(s, t->array, t->prio), id);
	o1_note(s, t);
}

#endif
