/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A binary heap of tasks by least key, equal keys in order of insertion. Keys are compared by signed
 * difference, so that virtual times may wrap around; any two keys in a heap must be less than 2^63 apart.
 */
#ifndef DIVVY_HEAP_H
#define DIVVY_HEAP_H

#include "../base.h"

struct heap_slot {
	u64 key;
	u32 seq; /* order of insertion, compared by signed difference as well */
	u32 id;
};

struct heap {
	u32 n;
	u32 seq;
	u32 at;                      /* the slot that a sift left its task in */
	struct heap_slot slot[POOL]; /* [0, n) */
	u32 place[POOL];             /* of each task: its slot + 1, 0 when it is not in the heap */
};

static inline bool heap_before(const struct heap_slot *a, const struct heap_slot *b)
{
	if (a->key != b->key)
		return (s64)(a->key - b->key) < 0;
	return (int)(a->seq - b->seq) < 0;
}

static inline void heap_put(struct heap *h, u32 at, struct heap_slot x)
{
	h->slot[at & POOL_MASK] = x;
	h->place[x.id & POOL_MASK] = (at & POOL_MASK) + 1;
}

/* Moves x up from slot h->at to where its parent is not after it. */
static NOINLINE void heap_sift_up(struct heap *h, const struct heap_slot *x)
{
	while (h->at && can_loop) {
		u32 parent = (h->at - 1) / 2;

		if (!heap_before(x, &h->slot[parent & POOL_MASK]))
			break;
		heap_put(h, h->at, h->slot[parent & POOL_MASK]);
		h->at = parent;
	}
}

/* Moves x down from slot h->at to where no child is before it. */
static NOINLINE void heap_sift_down(struct heap *h, const struct heap_slot *x)
{
	while (can_loop) {
		u32 child = 2 * h->at + 1;

		if (child >= h->n)
			break;
		if (child + 1 < h->n && heap_before(&h->slot[(child + 1) & POOL_MASK], &h->slot[child & POOL_MASK]))
			child++;
		if (!heap_before(&h->slot[child & POOL_MASK], x))
			break;
		heap_put(h, h->at, h->slot[child & POOL_MASK]);
		h->at = child;
	}
}

static inline void heap_settle(struct heap *h, u32 at, struct heap_slot x)
{
	h->at = at;
	heap_sift_up(h, &x);
	heap_sift_down(h, &x);
	heap_put(h, h->at, x);
}

static inline bool heap_holds(const struct heap *h, u32 id)
{
	return h->place[id & POOL_MASK];
}

/* The task with the least key, 0 when empty. */
static inline u32 heap_first(const struct heap *h)
{
	return h->n ? h->slot[0].id : 0;
}

static inline u64 heap_first_key(const struct heap *h)
{
	return h->slot[0].key;
}

/* Equal keys are in the order of this rank, not of insertion: ranks are below 2^31. */
static inline void heap_insert_ranked(struct heap *h, u32 id, u64 key, u32 rank)
{
	struct heap_slot x = { .key = key, .seq = rank, .id = id };

	h->at = h->n++;
	heap_sift_up(h, &x);
	heap_put(h, h->at, x);
}

static inline void heap_insert(struct heap *h, u32 id, u64 key)
{
	heap_insert_ranked(h, id, key, h->seq++);
}

static inline void heap_remove(struct heap *h, u32 id)
{
	u32 at = h->place[id & POOL_MASK];

	if (!at)
		return;
	h->place[id & POOL_MASK] = 0;
	h->n--;
	if (at - 1 != h->n)
		heap_settle(h, at - 1, h->slot[h->n & POOL_MASK]);
}

static inline u32 heap_pop(struct heap *h)
{
	u32 id = heap_first(h);
	struct heap_slot last;

	if (!id)
		return 0;
	h->place[id & POOL_MASK] = 0;
	h->n--;
	h->at = 0;
	if (h->n) {
		last = h->slot[h->n & POOL_MASK];
		heap_sift_down(h, &last);
		heap_put(h, h->at, last);
	}
	return id;
}

/* Gives a task of the heap another key and rank. */
static inline void heap_rekey_ranked(struct heap *h, u32 id, u64 key, u32 rank)
{
	u32 at = h->place[id & POOL_MASK];
	struct heap_slot x = { .key = key, .seq = rank, .id = id };

	if (at)
		heap_settle(h, at - 1, x);
}

/* Gives a task of the heap another key; among equals it comes last. */
static inline void heap_rekey(struct heap *h, u32 id, u64 key)
{
	heap_rekey_ranked(h, id, key, h->seq++);
}

#endif
