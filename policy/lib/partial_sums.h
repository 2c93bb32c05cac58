/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Weights of tasks with their partial sums, by task id: changing one, and finding the task in which a number falls,
 * take a step for each bit of an id. Fenwick: "A New Data Structure for Cumulative Frequency Tables" (1994).
 */
#ifndef DIVVY_PARTIAL_SUMS_H
#define DIVVY_PARTIAL_SUMS_H

#include "../base.h"

struct partial_sums {
	u64 total;
	u64 value[POOL];
	u64 sum[POOL]; /* [i]: of the values of (i - (i & -i), i] */
	u64 rest;      /* scratch of the loops below */
	u32 at;
	u32 step;
};

/* Adds delta, which may be negative in two's complement, to the sums that have s->at in them. */
static NOINLINE void partial_sums_add(struct partial_sums *s, u64 delta)
{
	while (s->at < POOL && can_loop) {
		s->sum[s->at & POOL_MASK] += delta;
		s->at += s->at & -s->at;
	}
}

static inline void partial_sums_set(struct partial_sums *s, u32 id, u64 value)
{
	u64 delta = value - s->value[id & POOL_MASK];

	if (!delta || !(id & POOL_MASK))
		return;
	s->value[id & POOL_MASK] = value;
	s->total += delta;
	s->at = id;
	partial_sums_add(s, delta);
}

/* As far as the sum is at most s->rest, from the greatest step to the least */
static NOINLINE void partial_sums_descend(struct partial_sums *s)
{
	while (s->step && can_loop) {
		u32 next = s->at + s->step;

		if (next < POOL && s->sum[next & POOL_MASK] <= s->rest) {
			s->rest -= s->sum[next & POOL_MASK];
			s->at = next;
		}
		s->step >>= 1;
	}
}

/* The task in which `number`, below the total, falls: the least id with which the sum is above it. */
static inline u32 partial_sums_find(struct partial_sums *s, u64 number)
{
	s->rest = number;
	s->at = 0;
	s->step = POOL / 2;
	partial_sums_descend(s);
	return s->at + 1;
}

#endif
