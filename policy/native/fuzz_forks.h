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

#define MODEL_DEBT_MAX (1ll << 36)

static void model_credit_parent(struct model_task *t, s64 ns, s64 quantum)
{
	s64 *credit = &model.task[t->parent].credit, sum = *credit + ns;

	if (t->parent)
		*credit = sum > quantum ? quantum : sum < -MODEL_DEBT_MAX ? -MODEL_DEBT_MAX : sum;
	t->parent = 0;
}

/* A task that is gone: a quantum less what it had received before that was due is its parent's. If some tasks may not run everywhere, its last
 * slice counts. */
static void model_exits(struct model_task *t, s64 quantum)
{
	s64 had = t->ahead;

	for (u32 id = 1; id < POOL; id++)
		if (model.task[id].runnable && !model_is_free(&model.task[id]))
			had = t->turn;
	model_credit_parent(t, quantum - (had < MODEL_DEBT_MAX ? had : MODEL_DEBT_MAX), quantum);
}

/* It was never asked to run: its parent's credit is as before. */
static void model_vanishes(struct model_task *t, u64 quantum)
{
	if (!t->was_picked)
		model_credit_parent(t, t->lent, quantum);
}

#endif
