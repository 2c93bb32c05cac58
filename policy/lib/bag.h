/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A set of tasks in no order, dense in memory, for those who look at every one. */
#ifndef DIVVY_BAG_H
#define DIVVY_BAG_H

#include "../base.h"

struct bag {
	u32 n;
	u32 id[POOL];    /* [0, n) */
	u32 place[POOL]; /* of each task in there */
};

static inline void bag_add(struct bag *b, u32 id)
{
	b->place[id & POOL_MASK] = b->n;
	b->id[b->n & POOL_MASK] = id;
	b->n++;
}

/* The last one takes its place. */
static inline void bag_remove(struct bag *b, u32 id)
{
	u32 at = b->place[id & POOL_MASK], last;

	b->n--;
	last = b->id[b->n & POOL_MASK];
	b->id[at & POOL_MASK] = last;
	b->place[last & POOL_MASK] = at;
}

#endif
