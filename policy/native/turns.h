/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Turns of whole quanta on one CPU, of tasks that are runnable from the beginning and stay so. The machine has nothing to do
 * then: no CPU is idle, no weight changes, nobody waits for another CPU, and each turn is charged in full. So these are the policy's
 * calls alone, with the fields of the task table that a policy reads. The machine is good for nothing else afterwards: it keeps no
 * order of tasks that may not run everywhere for later (machine/apart.h), and tells nobody what was received.
 */
#ifndef DIVVY_TURNS_H
#define DIVVY_TURNS_H

#include "machine.h"

static inline bool turns_need_no_machine(const struct machine *m)
{
	return m->s.tasks.ncpus == 1 && !machine_has(m, FLOW) && !machine_has_due(m);
}

/* The slice of the task that ran ends. */
static inline void turn_ends(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);

	t->charged += m->s.tasks.quantum;
	t->turn += m->s.tasks.quantum;
	CALL(charge)(&m->s, id, m->s.tasks.quantum, now);
	m->s.tasks.picked[0] = 0;
	t->state &= ~PICKED;
	CALL(stop)(&m->s, id, now, EXPIRED);
}

/* The task that the policy names, or 0 */
static inline u32 turn_pick(struct machine *m, u64 now)
{
	u32 id;

#if HAS(PEEK)
	CALL(before_peek)(&m->s, 0, now);
	do
		id = CALL(peek)(&m->s, 0, now);
	while (HAS(DROPS) && id == REMOVED);
#else
	id = CALL(pick)(&m->s, 0, now);
#endif
	m->decisions++;
	if (!id || !machine_waits(m, id))
		return 0;
#if HAS(PEEK)
	CALL(take)(&m->s, id);
#endif
	return id;
}

/* One turn ends at `now`, and the next begins. Returns the task that has it, or 0. */
static inline u32 turn_alone(struct machine *m, u64 now)
{
	u32 prev = m->s.tasks.picked[0], id;
	struct task *t;

	if (prev)
		turn_ends(m, prev, now);
	id = turn_pick(m, now);
	if (id != prev && prev) {
		machine_task(m, prev)->charged = 0;
		machine_task(m, prev)->state &= ~ON_CPU;
	}
	if (!id)
		return 0;
	t = machine_task(m, id);
	if (id != prev)
		t->since = now;
	t->cpu = 0;
	t->turn = 0;
	t->state |= PICKED | ON_CPU;
	m->s.tasks.picked[0] = id;
	CALL(slice)(&m->s, id); /* a policy may note that it was asked */
	return id;
}

#endif
