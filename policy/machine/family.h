/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine: what forked tasks owe. A task gets a slice, and may exit before its part of the machine has come to that. If its
 * child began like a stranger, the two would keep that slice for nothing, and a chain of such tasks the whole CPU. So:
 *
 *   - a child begins where its parent's slice began, and owes a quantum on top of that: it waits for as long as it takes until
 *     its parent's slice, or its own first one, is its part. The policy adds this to its tag, or whatever it has;
 *   - when it exits, that quantum less what it received before it was due is its parent's: as credit, up to a quantum, or as
 *     debt. The next child owes so much less or more. So a row of children is served as one task that goes on. A child that never
 *     had a slice gives back what it got: its fork failed.
 *
 * A task whose parent is not known, as it got an id late (parent 0), owes a quantum as well: it may be one of such a chain.
 */
#ifndef DIVVY_MACHINE_FAMILY_H
#define DIVVY_MACHINE_FAMILY_H

#include "state.h"

#if HAS(FORK)
#define DEBT_MAX (1ll << 36) /* ns, so that sums stay defined */

static inline struct family *machine_family(struct machine *m, u32 id)
{
	return &m->family[id & POOL_MASK];
}

/* A new task, by nobody until now; an id may have been another task's. */
static inline void machine_born(struct machine *m, u32 id)
{
	machine_task(m, id)->debit = 0;
	*machine_family(m, id) = (struct family){ .number = machine_family(m, id)->number + 1 };
}

static inline void machine_owe(struct machine *m, u32 id, u32 parent)
{
	struct family *f = machine_family(m, id), *p = machine_family(m, parent);

	f->parent = parent;
	f->parents_number = p->number;
	f->lent = p->credit;
	machine_task(m, id)->debit = (s64)m->s.tasks.quantum - f->lent;
	p->credit = 0;
}

/* Its parent has so much more to its credit, between DEBT_MAX of debt and a quantum, if that is still there. */
static inline void machine_credit_parent(struct machine *m, u32 id, s64 ns)
{
	struct family *f = machine_family(m, id), *p = machine_family(m, f->parent);
	s64 q = m->s.tasks.quantum, sum = p->credit + ns;

	if (sum < -DEBT_MAX)
		sum = -DEBT_MAX;
	if (f->parent && p->number == f->parents_number)
		p->credit = sum < q ? sum : q;
	f->parent = 0;
}

/* It is gone, and exited before, or never had a slice. */
static inline void machine_take_back(struct machine *m, u32 id)
{
	if (machine_task(m, id)->cpu == NO_CPU)
		machine_credit_parent(m, id, machine_family(m, id)->lent);
}
#endif

/* It is no longer runnable. */
static inline void machine_end_turn(struct machine *m, u32 id, enum why why)
{
#if HAS(FORK)
	s64 had;

	if (why != EXITED)
		return;
	/* Tags of tasks that may run on some CPUs only do not compare with those of others: its last slice. */
	had = m->s.tasks.nbound ? turn_of(&m->s.tasks, id) : CALL(overdrawn)(&m->s, id);
	machine_credit_parent(m, id, (s64)m->s.tasks.quantum - (had < DEBT_MAX ? had : DEBT_MAX));
#endif
}

#endif
