/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine: what forked tasks owe. A task gets a slice, and may exit before its part of the machine has come to that. If its
 * child began like a stranger, the two would keep that slice for nothing, and a chain of such tasks the whole CPU. So:
 *
 *   - a child begins where its parent's slice began, and owes a quantum on top of that: it waits for as long as it takes until
 *     its parent's slice, or its own first one, is its part. The policy adds this to its tag, or whatever it has;
 *   - when it exits, its parent may fork another one that owes what it had received before that was due, instead of a quantum. So a
 *     row of children is served as one task that goes on. Where several exited, the most of them counts for each. A child that never
 *     had a slice gives back what it got: its fork failed.
 *
 * A task whose parent is not known, as it got an id late (parent 0), owes a quantum as well: it may be one of such a chain.
 */
#ifndef DIVVY_MACHINE_FAMILY_H
#define DIVVY_MACHINE_FAMILY_H

#include "state.h"

#if HAS(FORK)
static inline struct family *machine_family(struct machine *m, u32 id)
{
	return &m->family[id & POOL_MASK];
}

/* A new task, by nobody until now; an id may have been another task's. */
static inline void machine_born(struct machine *m, u32 id)
{
	machine_task(m, id)->debit = 0;
	*machine_family(m, id) = (struct family){
		.number = machine_family(m, id)->number + 1,
		.heaviest = machine_task(m, id)->nominal,
	};
}

static inline void machine_owe(struct machine *m, u32 id, u32 parent)
{
	struct family *f = machine_family(m, id), *p = machine_family(m, parent);

	f->parent = parent;
	f->parents_number = p->number;
	f->succeeds = p->exits > 0;
	machine_task(m, id)->debit = f->succeeds ? p->ahead : m->s.tasks.quantum;
	p->exits -= f->succeeds;
	if (!p->exits)
		p->ahead = 0;
}

/* Its parent, if that is still there, may fork another one that owes so much. */
static inline void machine_leave_place(struct machine *m, u32 id, u64 ahead)
{
	struct family *f = machine_family(m, id), *p = machine_family(m, f->parent);

	if (f->parent && p->number == f->parents_number) {
		p->exits += p->exits != ~0u;
		p->ahead = p->ahead > ahead ? p->ahead : ahead;
	}
	f->parent = 0;
}

/* ns that it received before they were due, at the greatest weight that it asked for: else a task made itself light, and owed less. No more
 * than a slice on each CPU and one more: what nobody else wanted does not count (sfq R5). */
static NOINLINE u64 machine_ahead(struct machine *m, u32 id)
{
	u64 heaviest = machine_family(m, id)->heaviest, nominal = machine_task(m, id)->nominal;
	u64 most = (m->s.tasks.ncpus + 1) * POLICY_LONGEST_SLICE(&m->s), had = CALL(overdrawn)(&m->s, id);

	/* Tags of tasks that may run on some CPUs only do not compare with those of others: its last slice. */
	if (m->s.tasks.nbound)
		had = turn_of(&m->s.tasks, id);
	if (!had || !nominal)
		return 0;
	if (had >= most || heaviest / nominal > most / had)
		return most;
	had = wide_mul_div(&m->s.division, had, heaviest, nominal);
	return had < most ? had : most;
}

/* It is gone, and exited before, or never had a slice. */
static inline void machine_take_back(struct machine *m, u32 id)
{
	if (machine_task(m, id)->cpu == NO_CPU && machine_family(m, id)->succeeds)
		machine_leave_place(m, id, machine_task(m, id)->debit);
}
#endif

/* It is no longer runnable. */
static inline void machine_end_turn(struct machine *m, u32 id, enum why why)
{
#if HAS(FORK)
	if (why == EXITED)
		machine_leave_place(m, id, machine_ahead(m, id));
#endif
}

#endif
