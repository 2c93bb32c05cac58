/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The fuzzer's own account of what forked tasks owe (machine/family.h). */
#ifndef DIVVY_FUZZ_FORKS_H
#define DIVVY_FUZZ_FORKS_H

#include "fuzz_model.h"

/* The child owes a quantum, less what the parent has to its credit. */
static void model_forked(struct model_task *child, u32 parent, u64 quantum)
{
	child->parent = parent;
	child->lent = model.task[parent].credit;
	child->debit = quantum - child->lent;
	model.task[parent].credit = 0;
}

/* Children of a task that is gone have no parent. */
static void model_orphan(u32 parent)
{
	for (u32 id = 1; id < POOL; id++)
		if (model.task[id].parent == parent)
			model.task[id].parent = 0;
}

static void model_credit_parent(struct model_task *t, u64 ns, u64 quantum)
{
	u64 *credit = &model.task[t->parent].credit;

	if (t->parent)
		*credit = *credit + ns < quantum ? *credit + ns : quantum;
	t->parent = 0;
}

/* It sleeps or is gone. What a task that is gone left of a quantum is its parent's. */
static void model_ends_turn(struct model_task *t, enum why why, u64 quantum)
{
	t->spent += t->turn;
	t->turn = 0;
	if (why == EXITED)
		model_credit_parent(t, t->spent < quantum ? quantum - t->spent : 0, quantum);
}

/* It was never asked to run: its parent's credit is as before. */
static void model_vanishes(struct model_task *t, u64 quantum)
{
	if (!t->was_picked)
		model_credit_parent(t, t->lent, quantum);
}

#endif
