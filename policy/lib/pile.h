/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Heaps of tasks by least key, equal keys in order of insertion, with one pool of nodes for all of them: a task is in at most
 * one. Keys are compared by signed difference; any two in a heap must be less than 2^63 apart.
 *
 * A randomized meldable heap: to meld two, the later root is melded with one of the earlier root's children, by a coin. So
 * whatever was inserted and removed before, O(log n) expected, and no heap has a size that it may not exceed.
 */
#ifndef DIVVY_PILE_H
#define DIVVY_PILE_H

#include "../base.h"

#define PILES 128u

struct pile_node {
	u64 key;
	u32 seq; /* order of insertion, compared by signed difference as well */
	u32 up;  /* 0: it is the first */
	u32 child[2];
	u32 of; /* the heap that it is in; 0 if it is in none */
};

struct piles {
	u32 seq;
	u32 coin;
	u32 a, b; /* of a meld: what is left of the two */
	u32 up;   /* where the rest is to hang: below this task, 0 if nowhere yet, */
	u32 side; /* on this side */
	u32 of;   /* in this heap */
	u32 first[PILES];
	struct pile_node node[POOL]; /* [0] is no task */
};

static inline struct pile_node *pile_node(struct piles *p, u32 id)
{
	return &p->node[id & POOL_MASK];
}

/* The heap that the task is in, or 0 */
static inline u32 pile_of(const struct piles *p, u32 id)
{
	return p->node[id & POOL_MASK].of;
}

/* The task with the least key, 0 if there is none. */
static inline u32 pile_first(const struct piles *p, u32 of)
{
	return p->first[of % PILES];
}

static inline bool pile_before(const struct pile_node *a, const struct pile_node *b)
{
	if (a->key != b->key)
		return (s64)(a->key - b->key) < 0;
	return (int)(a->seq - b->seq) < 0;
}

/* Hangs a task, or nothing, where the rest is to hang. */
static inline void pile_hang(struct piles *p, u32 id)
{
	if (p->up)
		pile_node(p, p->up)->child[p->side & 1] = id;
	else
		p->first[p->of % PILES] = id;
	pile_node(p, id)->up = p->up;
}

static NOINLINE void pile_meld_once(struct piles *p)
{
	u32 a = p->a, b = p->b;

	if (pile_before(pile_node(p, b), pile_node(p, a))) {
		a = b;
		b = p->a;
	}
	pile_hang(p, a);
	p->coin = p->coin * 1664525 + 1013904223;
	p->side = p->coin >> 31;
	p->up = a;
	p->a = pile_node(p, a)->child[p->side & 1];
	p->b = b;
}

/* Hangs a and b, either of which may be nothing. */
static NOINLINE void pile_meld(struct piles *p)
{
	while (p->a && p->b && can_loop)
		pile_meld_once(p);
	pile_hang(p, p->a | p->b);
}

static inline void pile_insert(struct piles *p, u32 of, u32 id, u64 key)
{
	*pile_node(p, id) = (struct pile_node){ .key = key, .seq = p->seq++, .of = of };
	p->of = of;
	p->up = 0;
	p->a = pile_first(p, of);
	p->b = id;
	pile_meld(p);
}

/* The task is in a heap. */
static inline void pile_remove(struct piles *p, u32 id)
{
	struct pile_node *x = pile_node(p, id);

	p->of = x->of;
	p->up = x->up;
	p->side = x->up && pile_node(p, x->up)->child[1] == id;
	p->a = x->child[0];
	p->b = x->child[1];
	x->of = 0;
	pile_meld(p);
}

#endif
