/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Positions of bits, in constant time and without a table. */
#ifndef DIVVY_BITS_H
#define DIVVY_BITS_H

#include "../base.h"

/* floor(log2 x) for x > 0; 0 for 0. Without branches in BPF as well, where each would be a path to verify. */
static inline u32 floor_log2(u64 x)
{
	return 63 - __builtin_clzll(x | 1);
}

/* The lowest bit that is set, for x > 0 */
static inline u32 lowest_bit(u64 x)
{
	return floor_log2(x & -x);
}

/* The same number. The compiler must not know its range: it would leave out the mask at its next use, for which the verifier
 * asks. */
static inline u32 any_number(u32 x)
{
	asm volatile("" : "+r"(x));
	return x;
}

/* Each is 0 or 1. In BPF they have no branch: the verifier would follow both sides. */
static inline u32 is_equal(u32 a, u32 b)
{
	u64 differ = a ^ b;

	asm volatile("" : "+r"(differ));
	return (differ - 1) >> 63;
}

static inline u32 is_less(u32 a, u32 b)
{
	u64 below = a;

	asm volatile("" : "+r"(below));
	return (below - b) >> 63;
}

#endif
