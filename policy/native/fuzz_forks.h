/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The fuzzer's own account of what forked tasks owe (machine/family.h). */
#ifndef DIVVY_FUZZ_FORKS_H
#define DIVVY_FUZZ_FORKS_H

#include "fuzz_model.h"

/* The child owes a quantum, less what the parent has to its credit. */
static void model_forked(struct model_task *child, u32 parent, u64 quantum)
{
	child->parent = parent;
	child->debit = quantum - model.task[parent].credit;
	model.task[parent].credit = 0;
}

/* Children of a task that is gone have no parent. */
static void model_orphan(u32 parent)
{
	for (u32 id = 1; id < POOL; id++)
		if (model.task[id].parent == parent)
			model.task[id].parent = 0;
}

/* It sleeps or is gone. What a task that is gone left of a quantum is its parent's. */
static void model_ends_turn(struct model_task *t, enum why why, u64 quantum)
{
	u64 *credit = &model.task[t->parent].credit;

	t->spent += t->turn;
	t->turn = 0;
	if (why != EXITED || !t->parent || t->spent >= quantum)
		return;
	*credit += quantum - t->spent;
	*credit = *credit < quantum ? *credit : quantum;
}

#endif
