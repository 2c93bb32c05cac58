/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* sfs: the heuristic of section 3.2, which looks at a few tasks of three orders (sfs R7). */
#ifndef DIVVY_SFS_HEURISTIC_H
#define DIVVY_SFS_HEURISTIC_H

#include "surplus.h"

/* A surplus in ns of service, for the order of those that were */
static inline u64 sfs_old_surplus(struct sfs *s, u32 id)
{
	struct wide surplus = tag_times(tree_node(&s->waiting, id)->major, task_of(s, id)->S, s->v);

	return surplus.hi >> 20 ? ~0ull : surplus.hi << 44 | surplus.lo >> 20;
}

/* Its place among the surpluses is that of now, until the next update. A task that waited when k was set comes in then
 * (sfs R7). Inlined, as calls are deep above and below. */
static ALWAYS_INLINE void sfs_sort_in(struct sfs *s, u32 id)
{
	struct tag S = task_of(s, id)->S;
	u64 turn = tree_node(&s->waiting, id)->turn;

	if (!tree_holds(&s->by_S, id))
		tree_insert_part(&s->by_S, id, 0, S.v, S.part, turn);
	tree_remove(&s->by_surplus, id);
	tree_insert_part(&s->by_surplus, id, sfs_old_surplus(s, id), S.v, S.part, turn);
}

static NOINLINE void sfs_sort(struct sfs *s)
{
	tree_start(&s->waiting);
	while (s->waiting.at && can_loop) {
		u32 id = tree_step(&s->waiting);

		if (id)
			sfs_sort_in(s, id);
	}
}

static NOINLINE void sfs_look_on(struct sfs *s, struct tree *order)
{
	u32 id = tree_step(order);

	if (!id)
		return;
	sfs_look_at(s, id);
	s->looks--;
}

/* Looks at the first k tasks of an order. */
static NOINLINE void sfs_look_at_first(struct sfs *s, struct tree *order)
{
	s->looks = s->param.k;
	tree_start(order);
	while (order->at && s->looks > 0 && can_loop)
		sfs_look_on(s, order);
}

/* The least surplus of k tasks with little weight, k with little S, and k that had little surplus (sfs R7) */
static inline void sfs_find_little(struct sfs *s)
{
	sfs_look_at_first(s, &s->waiting);
	sfs_look_at_first(s, &s->by_S);
	sfs_look_at_first(s, &s->by_surplus);
}

static inline void sfs_keep_sorted(struct sfs *s)
{
	if (!s->param.k || ++s->choices < s->param.update)
		return;
	s->choices = 0;
	sfs_sort(s);
}

#endif
