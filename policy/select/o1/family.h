/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * o1: what parents and children share, at a fork and at an exit.
 *
 * It follows kernel/sched.c of Linux 2.6.8 to 2.6.22 closely: its names, constants and formulas. So it has the
 * kernel's licence, GPL-2.0-only, and no other.
 */
#ifndef DIVVY_O1_FAMILY_H
#define DIVVY_O1_FAMILY_H

#include "state.h"

#define O1_PARENT_PENALTY 100
#define O1_CHILD_PENALTY 95
#define O1_EXIT_WEIGHT 3

/* JIFFIES_TO_NS(CURRENT_BONUS(p) * PENALTY / 100 * MAX_SLEEP_AVG / MAX_BONUS), in this order and rounded down (o1 R9) */
static inline u64 o1_left_of(u64 bonus, u64 penalty)
{
	return bonus * penalty / 100 * O1_MAX_SLEEP_AVG / O1_MAX_BONUS;
}

static inline bool o1_is_thread_of(const struct o1 *s, u32 id, u32 other)
{
	return process_of_task(&s->tasks, id) == process_of_task(&s->tasks, other);
}

/* A child has half of what is left of its parent's time slice, and its sleep average less the penalty. That of the parent is
 * rounded down. A new process runs before its parent, with its priority; a new thread does not (o1 R9). */
static inline void o1_fork(struct o1 *s, u32 id, u32 parent, u64 now)
{
	struct o1_task *t = task_of(s, id), *p = task_of(s, parent);
	u64 bonus = o1_bonus(s, parent);

	*t = (struct o1_task){ .number = ++s->number };
	if (!parent)
		return;
	t->parent = parent;
	t->parents_number = p->number;
	t->sleep_avg = o1_left_of(bonus, O1_CHILD_PENALTY);
	t->time_slice = (p->time_slice + 1) / 2;
	t->first_time_slice = true;
	t->prio = p->prio;
	t->goes_first = is_picked(&s->tasks, parent) && !o1_is_thread_of(s, id, parent);
	p->time_slice /= 2;
	p->sleep_avg = o1_left_of(bonus, O1_PARENT_PENALTY);
	p->child = id;
}

/* A task that was interrupted is first of its list, after a child that goes before it (o1 R6, R9). A child that was made just now
 * may not be runnable yet. */
static inline void o1_interrupted(struct o1 *s, u32 id)
{
	u32 child = task_of(s, id)->child;

	o1_enqueue_first(s, id);
	if (!is_runnable(&s->tasks, child) || !task_of(s, child)->goes_first || task_of(s, child)->parent != id)
		return;
	o1_dequeue(s, child);
	o1_enqueue_first(s, child);
}

/* sched_exit: what is left of its first time slice goes back to the parent, and if it slept less, a quarter of its sleep
 * average (o1 R9). */
static inline void o1_exit(struct o1 *s, u32 id)
{
	struct o1_task *t = task_of(s, id), *p = task_of(s, t->parent);
	u64 most = o1_timeslice(o1_static_prio(s, id));

	if (!t->parent || p->number != t->parents_number)
		return;
	if (t->first_time_slice)
		p->time_slice = p->time_slice + t->time_slice < most ? p->time_slice + t->time_slice : most;
	if (t->sleep_avg < p->sleep_avg)
		p->sleep_avg =
			p->sleep_avg / (O1_EXIT_WEIGHT + 1) * O1_EXIT_WEIGHT + t->sleep_avg / (O1_EXIT_WEIGHT + 1);
}

#endif
