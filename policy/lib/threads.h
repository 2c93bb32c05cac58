/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How many threads a process, or a group of tasks, has: those that count, as a list. When their number changes, each of them is due
 * for a look. An event looks at THREAD_STEPS of them, and the others wait for the events after it (procfair D4).
 */
#ifndef DIVVY_THREADS_H
#define DIVVY_THREADS_H

#include "../base.h"
#include "ring.h"

/* An owner of threads is a process, or above POOL a group. */
#define OWNERS (2 * POOL)
#define OWNER_MASK (OWNERS - 1)

/* A test may choose fewer. */
#ifndef THREAD_STEPS
#define THREAD_STEPS 64u
#endif
/* After so many threads of one owner it is the next one's turn, so that a large process does not keep a small one waiting. */
#define THREAD_VISITS (THREAD_STEPS / 2)

struct threads {
	struct links members;
	u32 first[OWNERS]; /* of each owner: its first thread that counts */
	u32 n[OWNERS];
	u32 due[OWNERS];     /* of its threads, that are to be looked at */
	u32 waiting[OWNERS]; /* owners with some, from `front` to `back` */
	u32 front;
	u32 back;
	u32 visits; /* of the one in front */
	u32 steps;
	u32 at; /* the thread that is looked at, or 0 */
};

static inline void threads_changed(struct threads *s, u32 owner)
{
	u32 o = owner & OWNER_MASK;

	if (!s->due[o])
		s->waiting[s->back++ & OWNER_MASK] = o;
	s->due[o] = s->n[o] ? s->n[o] : 1;
}

static inline void threads_add(struct threads *s, u32 owner, u32 id)
{
	ring_push_back(&s->members, &s->first[owner & OWNER_MASK], id);
	s->n[owner & OWNER_MASK]++;
	threads_changed(s, owner);
}

static inline void threads_drop(struct threads *s, u32 owner, u32 id)
{
	ring_remove(&s->members, &s->first[owner & OWNER_MASK], id);
	s->n[owner & OWNER_MASK]--;
	threads_changed(s, owner);
}

static inline bool threads_has_due(const struct threads *s)
{
	return s->front != s->back;
}

/* A thread that is due, from now on no more, is looked at; 0 if its owner has none any more. */
static NOINLINE void threads_visit(struct threads *s)
{
	u32 o = s->waiting[s->front & OWNER_MASK] & OWNER_MASK;

	s->steps++;
	s->visits++;
	s->at = s->first[o];
	s->due[o] = s->at ? s->due[o] - 1 : 0;
	if (s->at)
		s->first[o] = ring_next(&s->members, s->at);
	if (s->due[o] && s->visits < THREAD_VISITS)
		return;
	s->visits = 0;
	s->front++;
	if (s->due[o])
		s->waiting[s->back++ & OWNER_MASK] = o;
}

static inline u32 threads_of(const struct threads *s, u32 owner)
{
	return s->n[owner & OWNER_MASK];
}

#endif
