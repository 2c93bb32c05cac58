/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks that wait with a start S and a finish F, both virtual times: of those that have started by the virtual time V, the
 * one that is to finish first.
 *
 * A tree by F in which each node knows the least S below it, so nothing is moved when V reaches an S: a search goes to the
 * first task with S <= V by looking at one node on each level.
 */
#ifndef DIVVY_ELIGIBLE_H
#define DIVVY_ELIGIBLE_H

#define TREE_TIMES 1
#include "tree.h"
#include "vtime.h"

struct eligible {
	struct tree waiting; /* by F; equal ones by S, unless TREE_BY_MINOR is 0; then as they came */
	u64 turns;           /* number of tasks that came */
	u64 V;               /* scratch: of a search */
};

static inline void eligible_insert(struct eligible *e, u32 id, u64 S, u64 F)
{
	tree_insert(&e->waiting, id, F, S, e->turns++);
}

/*
 * The same if V never decreases, with equal F in the order in which they became eligible. A task that has started already comes
 * after all that the last search found to have started, and before all others: as if it had started then.
 */
static inline void eligible_insert_in_turn(struct eligible *e, u32 id, u64 S, u64 F, u64 V)
{
	eligible_insert(e, id, vtime_before(V, S) ? S : e->V, F);
}

static inline void eligible_remove(struct eligible *e, u32 id)
{
	tree_remove(&e->waiting, id);
}

static inline bool eligible_holds(const struct eligible *e, u32 id)
{
	return tree_holds(&e->waiting, id);
}

/* The task with the least S, equal ones as they came; 0 if none waits. Where times are 2^63 apart, as only a hostile log makes them,
 * there is no least one, and the tree may still know one that left: then any that waits. */
static inline u32 eligible_earliest(struct eligible *e)
{
	u32 root = tree_root(&e->waiting), first = tree_node(&e->waiting, root)->first;

	return tree_holds(&e->waiting, first) ? first : root;
}

/* Whether a task at or below this node has started */
static inline bool eligible_below(struct eligible *e, u32 id)
{
	return id && !vtime_before(e->V, tree_node(&e->waiting, id)->first_minor);
}

/* One step of the search from a node with a started task at or below it. Returns false if it is the one at the node; or where times
 * are 2^63 apart, if nobody is below it who has started. */
static NOINLINE bool eligible_descend(struct eligible *e)
{
	struct tree *t = &e->waiting;
	const struct tree_node *n = tree_node(t, t->at);

	if (eligible_below(e, n->child[0])) {
		t->at = n->child[0];
		return true;
	}
	if (!vtime_before(e->V, n->minor) || !n->child[1])
		return false;
	t->at = n->child[1];
	return true;
}

static NOINLINE void eligible_search(struct eligible *e)
{
	while (eligible_descend(e) && can_loop)
		;
}

/* The least F of those with S <= V; if nobody has started, the least S. */
static inline u32 eligible_first(struct eligible *e, u64 V)
{
	e->V = V;
	e->waiting.at = tree_root(&e->waiting);
	if (!eligible_below(e, e->waiting.at))
		return eligible_earliest(e);
	eligible_search(e);
	return e->waiting.at;
}

#endif
