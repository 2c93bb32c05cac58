/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The greatest power of two that no runnable task's weight is below: what round-robins with weights take for one
 * quantum, so that each task has at least one in a round and nobody has more than its ratio needs.
 */
#ifndef DIVVY_LIGHTEST_H
#define DIVVY_LIGHTEST_H

#include "bits.h"

struct lightest {
	u64 orders; /* bit k: some weight is from 2^k to 2^(k+1) - 1 */
	u32 n[64];  /* how many are */
};

static inline void lightest_add(struct lightest *l, u64 w)
{
	u32 k = floor_log2(w);

	l->n[k & 63]++;
	l->orders |= 1ull << (k & 63);
}

static inline void lightest_remove(struct lightest *l, u64 w)
{
	u32 k = floor_log2(w);

	l->n[k & 63]--;
	if (!l->n[k & 63])
		l->orders &= ~(1ull << (k & 63));
}

/* Or the weight that `given` says, in 2^-16 of a weight of 1 */
static inline u64 lightest_unit(const struct lightest *l, s64 given)
{
	u64 unit = given >> 6;

	return unit ? unit : l->orders & -l->orders;
}

#endif
