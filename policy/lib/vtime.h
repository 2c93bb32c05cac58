/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Virtual time: service divided by weight, in ns of a nice-0 task.
 *
 * The remainder of each division is carried to the next, so a tag is exactly the service received at
 * this weight over the weight, rounded down once, however often it was charged.
 */
#ifndef DIVVY_VTIME_H
#define DIVVY_VTIME_H

#include "../policy.h"

struct vtime {
	u64 v;    /* ns, may wrap around */
	u64 rest; /* what the last division left over, in 2^-20 ns, below the weight */
};

/* One charge is counted up to this much, which keeps the product below in 64 bits (2.4 hours). */
#define VTIME_RAN_MAX (1ull << 43)

/* v += ran / w */
static inline void vtime_advance(struct vtime *t, u64 ran, u64 w)
{
	u64 product = (ran < VTIME_RAN_MAX ? ran : VTIME_RAN_MAX) * WEIGHT_NICE_0 + t->rest;

	t->v += product / w;
	t->rest = product % w;
}

/* The service that moves a tag of this weight by so much, ns, rounded down */
static inline u64 vtime_service(u64 by, u64 w)
{
	if (by > VTIME_RAN_MAX)
		by = VTIME_RAN_MAX;
	return by / WEIGHT_NICE_0 * w + by % WEIGHT_NICE_0 * w / WEIGHT_NICE_0;
}

/* Where it will be after `ran` more */
static inline u64 vtime_after(struct vtime t, u64 ran, u64 w)
{
	vtime_advance(&t, ran, w);
	return t.v;
}

/* Where it was before the last `ran` ns, at this weight; up to 1 ns more */
static inline u64 vtime_ago(struct vtime t, u64 ran, u64 w)
{
	return t.v - (ran < VTIME_RAN_MAX ? ran : VTIME_RAN_MAX) * WEIGHT_NICE_0 / w;
}

/* Where a forked task begins: where its parent, whose virtual time is t, was when its slice began */
static inline u64 vtime_of_child(struct vtime t, const struct task_table *tasks, u32 parent)
{
	return vtime_ago(t, turn_of(tasks, parent), weight_of(tasks, parent));
}

/* The remainder is a part of the old weight: carried over, it would be charged at the new one. */
static inline void vtime_reweigh(struct vtime *t)
{
	t->rest = 0;
}

static inline bool vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* v = max(v, to) */
static inline void vtime_raise(struct vtime *t, u64 to)
{
	if (vtime_before(t->v, to))
		*t = (struct vtime){ .v = to };
}

/* The service by which a tag of this weight is ahead of another, ns; 0 if it is not */
static inline u64 vtime_lead(u64 tag, u64 other, u64 w)
{
	return vtime_before(other, tag) ? vtime_service(tag - other, w) : 0;
}

static inline u64 vtime_max(u64 a, u64 b)
{
	return vtime_before(a, b) ? b : a;
}

#endif
