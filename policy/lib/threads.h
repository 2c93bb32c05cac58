/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How many threads a process, or a group of tasks, has: those that count, as a list. */
#ifndef DIVVY_THREADS_H
#define DIVVY_THREADS_H

#include "../base.h"
#include "ring.h"

/* An owner of threads is a process, or above POOL a group. */
#define OWNERS (2 * POOL)
#define OWNER_MASK (OWNERS - 1)

struct threads {
	struct links members;
	u32 first[OWNERS]; /* of each owner: its first thread that counts */
	u32 n[OWNERS];
};

static inline void threads_add(struct threads *s, u32 owner, u32 id)
{
	ring_push_back(&s->members, &s->first[owner & OWNER_MASK], id);
	s->n[owner & OWNER_MASK]++;
}

static inline void threads_drop(struct threads *s, u32 owner, u32 id)
{
	ring_remove(&s->members, &s->first[owner & OWNER_MASK], id);
	s->n[owner & OWNER_MASK]--;
}

static inline u32 threads_of(const struct threads *s, u32 owner)
{
	return s->n[owner & OWNER_MASK];
}

#endif
