/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* sfs: surpluses, and the search for the least one of all tasks that wait (sfs R5). */
#ifndef DIVVY_SFS_SURPLUS_H
#define DIVVY_SFS_SURPLUS_H

#include "state.h"

/* phi (S - v), in 2^-20/scale ns of service (sfs R5) */
static inline struct sfs_rank sfs_rank(const struct sfs *s, u64 phi, struct tag S, u64 turn)
{
	return (struct sfs_rank){ .surplus = tag_times(phi, S, s->v), .turn = turn };
}

static inline bool sfs_rank_before(const struct sfs_rank *a, const struct sfs_rank *b)
{
	if (a->surplus.hi != b->surplus.hi)
		return a->surplus.hi < b->surplus.hi;
	if (a->surplus.lo != b->surplus.lo)
		return a->surplus.lo < b->surplus.lo;
	return a->turn < b->turn;
}

/* Computes a waiting task's surplus, and remembers the task if it has the least so far. */
static inline void sfs_look_at(struct sfs *s, u32 id)
{
	const struct tree_node *t = tree_node(&s->waiting, id);
	struct tag S = { .v = t->minor, .part = t->part };
	struct sfs_rank rank = sfs_rank(s, t->major, S, t->turn);

	if (sfs_rank_before(&rank, &s->rank) && sfs_rank_before(&s->after, &rank)) {
		s->rank = rank;
		s->least = id;
	}
}

/*
 * Whether a subtree may have a task that comes before the least so far: none in it has a lesser surplus than its least phi
 * times its least S - v, nor an earlier turn than its least.
 */
static NOINLINE bool sfs_promises(struct sfs *s, u32 id)
{
	const struct tree_node *t = tree_node(&s->waiting, id);
	struct tag S = { .v = t->first_minor, .part = t->first_part };
	struct sfs_rank bound = sfs_rank(s, t->least_major, S, t->least_turn);

	return id && sfs_rank_before(&bound, &s->rank);
}

/* From a task of the tree, which is looked at, to the next one to look at, or some way there */
static NOINLINE void sfs_search_on(struct sfs *s)
{
	struct tree *t = &s->waiting;
	const struct tree_node *n = tree_node(t, t->at);

	if (t->way == DOWN)
		sfs_look_at(s, t->at);
	if (t->way == DOWN && sfs_promises(s, n->child[0]))
		tree_go_down(t, n->child[0]);
	else if (t->way != UP_FROM_AFTER && sfs_promises(s, n->child[1]))
		tree_go_down(t, n->child[1]);
	else
		tree_go_up(t);
}

/* The least surplus of all that wait (sfs R5) */
static NOINLINE void sfs_find_least(struct sfs *s)
{
	struct tree *t = &s->waiting;

	sfs_look_at(s, tree_node(t, tree_root(t))->first);
	tree_start(t);
	while (t->at && can_loop)
		sfs_search_on(s);
}

#endif
