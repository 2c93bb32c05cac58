/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tags: virtual times with places behind the point.
 *
 * Policies whose order depends on a weight times a tag need them: in whole ns, three times a third of a quantum is less
 * than the quantum. A part has 46 bits; what is computed from tags is rounded to a unit that is far above their error
 * and far below what a clock measures, so numbers that are equal in exact arithmetic are equal here.
 */
#ifndef DIVVY_TAG_H
#define DIVVY_TAG_H

#include "vtime.h"
#include "wide.h"

#define TAG_STEP 23 /* bits of a step of the division below: a remainder is below 2^40, the largest weight */
#define TAG_BITS (2 * TAG_STEP)

struct tag {
	u64 v;    /* may wrap around */
	u64 part; /* in 2^-46 of it */
};

static inline bool tag_before(struct tag a, struct tag b)
{
	return a.v != b.v ? vtime_before(a.v, b.v) : a.part < b.part;
}

static inline struct tag tag_max(struct tag a, struct tag b)
{
	return tag_before(a, b) ? b : a;
}

/* t + rest / w with rest < w, rounded to the nearest part */
static inline struct tag tag_plus(struct tag t, u64 rest, u64 w)
{
	u64 high = (rest << TAG_STEP) / w, left = (rest << TAG_STEP) % w;
	u64 part = t.part + (high << TAG_STEP) + ((left << TAG_STEP) + w / 2) / w;

	return (struct tag){ .v = t.v + (part >> TAG_BITS), .part = part & ((1ull << TAG_BITS) - 1) };
}

/* For a heap, which has room for so many bits of the part */
static inline u32 tag_rank(struct tag t)
{
	return t.part >> (TAG_BITS - 31);
}

/* The golden section, which no fraction with a small denominator is near, in 2^-23 */
#define TAG_ROUND 5184444ull

/*
 * w (a - b) in whole numbers, 0 if it is negative. Fractions from 0.382 on are rounded up: the error of tags matters only
 * near the border, and sums of quanta over weights are near whole numbers, halves and thirds more often than near that.
 */
static inline struct wide tag_times(u64 w, struct tag a, struct tag b)
{
	u64 borrow = (a.part - b.part) >> 63, part = a.part - b.part + (borrow << TAG_BITS);
	u64 high = w * (part >> TAG_STEP), low = w * (part & ((1ull << TAG_STEP) - 1));
	struct wide fraction = { .lo = (high + (low >> TAG_STEP) + TAG_ROUND) >> TAG_STEP };
	struct wide x = wide_add(wide_mul_signed(w, a.v - b.v - borrow), fraction);
	u64 keep = (x.hi >> 63) - 1;

	return (struct wide){ .hi = x.hi & keep, .lo = x.lo & keep };
}

#endif
