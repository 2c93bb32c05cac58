/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks in the order of two keys: by major, equal ones by minor, equal ones of those by turn. Minor keys are compared
 * by signed difference, as virtual times that may wrap around; any two in a tree must be less than 2^63 apart. A minor key
 * may have a fraction, `part`. Major keys are numbers, or virtual times as well.
 *
 * A treap: a binary search tree that is also a heap by a hash of the task's id. So its shape is that of a tree into which
 * the tasks came in random order, whatever the order was: O(log n) expected. Each node knows the least major key, the least
 * turn, and the first by minor key and turn of the tasks below it and of its own, so that a search for the least of some
 * function that grows with both keys can leave out whole subtrees.
 */
#ifndef DIVVY_TREE_H
#define DIVVY_TREE_H

#include "bits.h"

/* 1 for a policy whose minor keys have fractions, and that searches by turns: the verifier pays for each comparison. */
#ifndef TREE_PARTS
#define TREE_PARTS 0
#endif

/* 1 for a policy whose major keys are virtual times, and that does not search by the least of them. */
#ifndef TREE_TIMES
#define TREE_TIMES 0
#endif

/* 0 for a policy whose tasks with equal major keys are in the order of their turns, whatever their minor keys */
#ifndef TREE_BY_MINOR
#define TREE_BY_MINOR 1
#endif

struct tree_node {
	u64 major, minor, part, turn;
	u64 least_major, least_turn;
	u64 first_minor, first_part;
	u32 child[2]; /* [0] before it, [1] after it */
	u32 up;
	u32 first; /* the task that has first_minor and first_part, of several the first by turn; 0: it is not in the tree */
};

enum tree_way { DOWN, UP_FROM_BEFORE, UP_FROM_AFTER };

struct tree {
	u32 at;            /* of a walk: where it is; of a search: what it found */
	u32 after;         /* of an insertion: the side to which it goes on, 0 or 1 */
	enum tree_way way; /* and how it came there */
	/* [0] is no task: its child[0] is the root. */
	struct tree_node node[POOL];
};

static inline struct tree_node *tree_node(struct tree *t, u32 id)
{
	return &t->node[id & POOL_MASK];
}

static inline u32 tree_root(const struct tree *t)
{
	return t->node[0].child[0];
}

static inline bool tree_holds(const struct tree *t, u32 id)
{
	return t->node[id & POOL_MASK].first;
}

/* No task's is greater than its parent's; no task has none. */
static inline u32 tree_rank(u32 id)
{
	u32 x = id * 0x9e3779b9u;

	x = (x ^ x >> 15) * 0x85ebca6bu;
	return x ^ x >> 13;
}

static inline bool tree_before(const struct tree_node *a, const struct tree_node *b)
{
	if (a->major != b->major)
		return TREE_TIMES ? (s64)(a->major - b->major) < 0 : a->major < b->major;
	if (TREE_BY_MINOR && a->minor != b->minor)
		return (s64)(a->minor - b->minor) < 0;
	if (TREE_PARTS && a->part != b->part)
		return a->part < b->part;
	return a->turn < b->turn;
}

/* Whether the first task below x comes before the first below n */
static inline bool tree_is_first(const struct tree *t, const struct tree_node *x, const struct tree_node *n)
{
	if (x->first_minor != n->first_minor)
		return (s64)(x->first_minor - n->first_minor) < 0;
	if (TREE_PARTS && x->first_part != n->first_part)
		return x->first_part < n->first_part;
	return t->node[x->first & POOL_MASK].turn < t->node[n->first & POOL_MASK].turn;
}

/* All that is below x is below n as well. */
static NOINLINE void tree_count(const struct tree *t, struct tree_node *n, const struct tree_node *x)
{
	if (!TREE_TIMES && x->least_major < n->least_major)
		n->least_major = x->least_major;
	if (TREE_PARTS && x->least_turn < n->least_turn)
		n->least_turn = x->least_turn;
	if (tree_is_first(t, x, n)) {
		n->first_minor = x->first_minor;
		n->first_part = x->first_part;
		n->first = x->first;
	}
	clear_result();
}

static inline void tree_count_itself(struct tree_node *n, u32 id)
{
	n->first = id;
	n->least_major = n->major;
	n->least_turn = n->turn;
	n->first_minor = n->minor;
	n->first_part = n->part;
}

static inline void tree_count_all(struct tree *t, u32 id)
{
	struct tree_node *n = tree_node(t, id);

	tree_count_itself(n, id);
	if (n->child[0])
		tree_count(t, n, tree_node(t, n->child[0]));
	if (n->child[1])
		tree_count(t, n, tree_node(t, n->child[1]));
}

/* Puts a node, or nothing, where another one is. */
static inline void tree_replace(struct tree *t, u32 old, u32 id)
{
	u32 up = tree_node(t, old)->up;
	struct tree_node *p = tree_node(t, up);

	p->child[is_equal(p->child[1], old)] = id;
	tree_node(t, id)->up = up;
}

/* Rotates: a node takes its parent's place, and has it for a child. Below it is now all that was below the parent,
 * which is to be counted anew if it stays. */
static inline void tree_raise(struct tree *t, u32 id)
{
	struct tree_node *x = tree_node(t, id);
	u32 up = x->up;
	struct tree_node *p = tree_node(t, up);
	u32 after = is_equal(p->child[1], id);
	u32 inner = x->child[after ^ 1];

	tree_replace(t, up, id);
	p->child[after] = inner;
	tree_node(t, inner)->up = up;
	x->child[after ^ 1] = up;
	p->up = id;
	x->least_major = p->least_major;
	x->least_turn = p->least_turn;
	x->first_minor = p->first_minor;
	x->first_part = p->first_part;
	x->first = p->first;
}

/* One step of tree_hang, to the child that `after` says */
static NOINLINE void tree_hang_lower(struct tree *t, u32 id)
{
	struct tree_node *x = tree_node(t, id), *n;

	x->up = tree_node(t, x->up)->child[t->after & 1];
	n = tree_node(t, x->up);
	tree_count(t, n, x);
	t->after = tree_before(n, x);
	clear_result();
}

/* Hangs a node where a search for it ends. */
static NOINLINE void tree_hang(struct tree *t, u32 id)
{
	struct tree_node *x = tree_node(t, id);

	x->up = 0;
	t->after = 0;
	while (tree_node(t, x->up)->child[t->after & 1] && can_loop)
		tree_hang_lower(t, id);
	tree_node(t, x->up)->child[t->after & 1] = id;
}

static NOINLINE void tree_rise_once(struct tree *t, u32 id)
{
	u32 up = tree_node(t, id)->up;

	tree_raise(t, id);
	tree_count_all(t, up);
	clear_result();
}

static NOINLINE void tree_rise(struct tree *t, u32 id)
{
	struct tree_node *x = tree_node(t, id);

	while (x->up && tree_rank(x->up) < tree_rank(id) && can_loop)
		tree_rise_once(t, id);
}

static NOINLINE void tree_sink_once(struct tree *t, u32 id)
{
	struct tree_node *x = tree_node(t, id);

	tree_raise(t, x->child[is_less(tree_rank(x->child[0]), tree_rank(x->child[1]))]);
}

/* Down to where it has no child */
static NOINLINE void tree_sink(struct tree *t, u32 id)
{
	struct tree_node *x = tree_node(t, id);

	while ((x->child[0] || x->child[1]) && can_loop)
		tree_sink_once(t, id);
}

/* Computes anew what is known of a node. Goes on to the one above it, or if nothing has changed to none. */
static NOINLINE void tree_recount_once(struct tree *t)
{
	struct tree_node *n = tree_node(t, t->at);
	u64 least_major = n->least_major, least_turn = n->least_turn;
	u32 first = n->first;

	tree_count_all(t, t->at);
	t->at = n->up;
	if (n->first == first && (TREE_TIMES || n->least_major == least_major) &&
	    (!TREE_PARTS || n->least_turn == least_turn))
		t->at = 0;
	clear_result();
}

/* The same from a task's parent on, when the task is gone */
static NOINLINE void tree_recount(struct tree *t, u32 id)
{
	t->at = id;
	while (t->at && can_loop)
		tree_recount_once(t);
}

static inline void tree_insert_part(struct tree *t, u32 id, u64 major, u64 minor, u64 part, u64 turn)
{
	struct tree_node *x = tree_node(t, id);

	*x = (struct tree_node){ .major = major, .minor = minor, .part = part, .turn = turn };
	tree_count_itself(x, id);
	tree_hang(t, id);
	tree_rise(t, id);
}

static inline void tree_insert(struct tree *t, u32 id, u64 major, u64 minor, u64 turn)
{
	tree_insert_part(t, id, major, minor, 0, turn);
}

static inline void tree_remove(struct tree *t, u32 id)
{
	struct tree_node *x = tree_node(t, id);

	if (!x->first)
		return;
	tree_sink(t, id);
	tree_replace(t, id, 0);
	tree_recount(t, x->up);
	x->first = 0;
}

/* The first task behind a key, into `at`: 0 if there is none */
static NOINLINE void tree_find_after(struct tree *t, const struct tree_node *key)
{
	u32 id = tree_root(t);

	t->at = 0;
	while (id && can_loop) {
		bool behind = tree_before(key, tree_node(t, id));

		if (behind)
			t->at = id;
		id = tree_node(t, id)->child[!behind];
	}
}

static inline u32 tree_after(struct tree *t, const struct tree_node *key)
{
	tree_find_after(t, key);
	return t->at;
}

/* ---- walks ---- */

static inline void tree_start(struct tree *t)
{
	t->at = tree_root(t);
	t->way = DOWN;
}

static inline void tree_go_down(struct tree *t, u32 child)
{
	t->at = child;
	t->way = DOWN;
}

static inline void tree_go_up(struct tree *t)
{
	u32 up = tree_node(t, t->at)->up;

	t->way = tree_node(t, up)->child[1] == t->at ? UP_FROM_AFTER : UP_FROM_BEFORE;
	t->at = up;
}

/* One step of a walk in order, which ends when `at` is 0: the task that is next, or 0 if that takes more steps. */
static inline u32 tree_step(struct tree *t)
{
	u32 at = t->at;
	struct tree_node *n = tree_node(t, at);

	if (t->way == DOWN && n->child[0]) {
		tree_go_down(t, n->child[0]);
		return 0;
	}
	if (t->way == UP_FROM_AFTER) {
		tree_go_up(t);
		return 0;
	}
	if (n->child[1])
		tree_go_down(t, n->child[1]);
	else
		tree_go_up(t);
	return at;
}

#endif
