/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The fuzzer's own account of what forked tasks owe (machine/family.h). */
#ifndef DIVVY_FUZZ_FORKS_H
#define DIVVY_FUZZ_FORKS_H

#include "fuzz_model.h"

/* The child owes a quantum, or what children that exited had too early, once for each of these. */
static void model_forked(struct model_task *child, u32 parent, u64 quantum)
{
	struct model_task *p = &model.task[parent];

	child->parent = parent;
	child->succeeds = p->exits != 0;
	child->debit = p->exits ? p->most : quantum;
	if (p->exits && !--p->exits)
		p->most = 0;
}

/* Children of a task that is gone have no parent. */
static void model_orphan(u32 parent)
{
	for (u32 id = 1; id < POOL; id++)
		if (model.task[id].parent == parent)
			model.task[id].parent = 0;
}

static void model_leaves_place(struct model_task *t, u64 ahead)
{
	struct model_task *p = &model.task[t->parent];

	if (t->parent) {
		p->exits++;
		p->most = p->most > ahead ? p->most : ahead;
	}
	t->parent = 0;
}

/* A task that is gone. If some tasks may not run everywhere, its last slice counts as received before it was due. */
static void model_exits(struct model_task *t)
{
	long double had = t->ahead, most = (model.ncpus + 1.0L) * t->longest;

	for (u32 id = 1; id < POOL; id++)
		if (model.task[id].runnable && !model_is_free(&model.task[id]))
			had = t->turn;
	had = had * t->heaviest / t->nominal;
	model_leaves_place(t, had < most ? had : most);
}

/* It was never asked to run. */
static void model_vanishes(struct model_task *t)
{
	if (!t->was_picked && t->succeeds)
		model_leaves_place(t, t->debit);
}

#endif
