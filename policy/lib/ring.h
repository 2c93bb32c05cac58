/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Circular lists of tasks, linked by index. A list is its first task's id, 0 when empty; a task is on
 * at most one list of a `struct links`.
 */
#ifndef DIVVY_RING_H
#define DIVVY_RING_H

#include "../base.h"

struct link {
	u32 next;
	u32 prev;
};

struct links {
	struct link task[POOL];
};

static inline u32 ring_next(const struct links *l, u32 id)
{
	return l->task[id & POOL_MASK].next;
}

static inline u32 ring_last(const struct links *l, u32 first)
{
	return first ? l->task[first & POOL_MASK].prev : 0;
}

/* Insert id before the task `at` of a list. */
static inline void ring_link(struct links *l, u32 at, u32 id)
{
	u32 before = l->task[at & POOL_MASK].prev;

	l->task[id & POOL_MASK].next = at;
	l->task[id & POOL_MASK].prev = before;
	l->task[before & POOL_MASK].next = id;
	l->task[at & POOL_MASK].prev = id;
}

static inline void ring_push_back(struct links *l, u32 *first, u32 id)
{
	if (*first) {
		ring_link(l, *first, id);
		return;
	}
	l->task[id & POOL_MASK].next = id;
	l->task[id & POOL_MASK].prev = id;
	*first = id;
}

static inline void ring_push_front(struct links *l, u32 *first, u32 id)
{
	ring_push_back(l, first, id);
	*first = id;
}

static inline void ring_remove(struct links *l, u32 *first, u32 id)
{
	u32 next = l->task[id & POOL_MASK].next;
	u32 prev = l->task[id & POOL_MASK].prev;

	l->task[prev & POOL_MASK].next = next;
	l->task[next & POOL_MASK].prev = prev;
	if (*first == id)
		*first = next == id ? 0 : next;
}

static inline u32 ring_pop_front(struct links *l, u32 *first)
{
	u32 id = *first;

	if (id)
		ring_remove(l, first, id);
	return id;
}

/* All of the list that begins with `other`, in its order, behind those of *first. */
static inline void ring_append(struct links *l, u32 *first, u32 other)
{
	u32 last = ring_last(l, *first), end = ring_last(l, other);

	if (!other)
		return;
	if (!*first) {
		*first = other;
		return;
	}
	l->task[last & POOL_MASK].next = other;
	l->task[other & POOL_MASK].prev = last;
	l->task[end & POOL_MASK].next = *first;
	l->task[*first & POOL_MASK].prev = end;
}

#endif
