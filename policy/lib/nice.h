/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Nice values of weights, for schedulers that know only these: one is a factor of 1.25, and 0 is nice 0's weight. */
#ifndef DIVVY_NICE_H
#define DIVVY_NICE_H

#include "log2.h"

/* log2 1.25, in 2^-24 */
#define NICE_STEP 5401006ull

/* 20 + nice, the nearest one, from 0 to 39 */
static inline u64 nice_index(u64 w)
{
	/* 64 + log2 of nice 0 + 20 steps - log2 w, so that no difference is negative */
	u64 below = (20ull << LOG2_BITS) + 20 * NICE_STEP + (64ull << LOG2_BITS) - log2_fixed(w);
	u64 zero = 64ull << LOG2_BITS, index;

	if (below < zero)
		return 0;
	index = (below - zero + NICE_STEP / 2) / NICE_STEP;
	return index < 39 ? index : 39;
}

#endif
