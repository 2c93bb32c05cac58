/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine: what forked tasks owe. A task gets a slice, and may exit before its part of the machine has come to that. If its
 * child began like a stranger, the two would keep that slice for nothing, and a chain of such tasks the whole CPU. So:
 *
 *   - a child begins where its parent's slice began, and owes a quantum on top of that: it waits for as long as it takes until
 *     its parent's slice, or its own first one, is its part. The policy adds this to its tag, or whatever it has;
 *   - what it left of its last quantum when it exits is its parent's credit, up to a quantum. The next child owes so much less.
 *     So a program that makes many short tasks loses nothing.
 *
 * A task that slept gets a slice in advance whenever it wakes. So what it used of its last slice before each sleep is taken off
 * what it gives back.
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
	*machine_family(m, id) = (struct family){ .number = machine_family(m, id)->number + 1 };
}

static inline void machine_owe(struct machine *m, u32 id, u32 parent)
{
	struct family *f = machine_family(m, id), *p = machine_family(m, parent);

	f->parent = parent;
	f->parents_number = p->number;
	machine_task(m, id)->debit = m->s.tasks.quantum - p->credit;
	p->credit = 0;
}

/* It exits: what it has left is its parent's, if that is still there. */
static inline void machine_give_back(struct machine *m, u32 id)
{
	struct family *f = machine_family(m, id), *p = machine_family(m, f->parent);
	u64 used = f->spent + machine_task(m, id)->turn, q = m->s.tasks.quantum;

	if (!f->parent || p->number != f->parents_number || used >= q)
		return;
	p->credit += q - used;
	if (p->credit > q)
		p->credit = q;
}
#endif

/* It is no longer runnable. */
static inline void machine_end_turn(struct machine *m, u32 id, enum why why)
{
#if HAS(FORK)
	if (why == EXITED)
		machine_give_back(m, id);
	machine_family(m, id)->spent += machine_task(m, id)->turn;
	machine_task(m, id)->turn = 0;
#endif
}

#endif
