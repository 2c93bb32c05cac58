/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Random numbers whose state is the policy's: the same seed gives the same numbers on every host. A policy that draws them
 * has a parameter `seed` with 0 as its default, for which a host puts a seed of its own (Spec::seeded in policy/src/seed.rs).
 *
 * Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators" (SplitMix64, OOPSLA 2014); Lemire: "Fast Random
 * Integer Generation in an Interval" (2019), which is unbiased.
 */
#ifndef DIVVY_RANDOM_H
#define DIVVY_RANDOM_H

#include "wide.h"

struct random {
	u64 state; /* the seed, at first */
	u64 drawn; /* result of random_draw */
};

static inline u64 random_next(struct random *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* The high half of n times a random number, which is from 0 to n - 1; of the 2^64 products those whose low half is
 * below 2^64 mod n are one too many of their kind, and drawn again. */
static NOINLINE void random_draw(struct random *r, u64 n)
{
	u64 many = -n % n;

	while (can_loop) {
		struct wide product = wide_mul(random_next(r), n);

		r->drawn = product.hi;
		if (product.lo >= many)
			return;
	}
}

/* Each number below n, which is not 0, alike */
static inline u64 random_below(struct random *r, u64 n)
{
	random_draw(r, n);
	return r->drawn;
}

#endif
