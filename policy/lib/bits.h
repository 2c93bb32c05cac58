/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Positions of bits, in constant time and without a table. */
#ifndef DIVVY_BITS_H
#define DIVVY_BITS_H

#include "../policy.h"

/* floor(log2 x) for x > 0; 0 for 0 */
static inline u32 floor_log2(u64 x)
{
	u32 n = 0;

	if (x >> 32) { n += 32; x >>= 32; }
	if (x >> 16) { n += 16; x >>= 16; }
	if (x >> 8) { n += 8; x >>= 8; }
	if (x >> 4) { n += 4; x >>= 4; }
	if (x >> 2) { n += 2; x >>= 2; }
	return n + (u32)(x >> 1);
}

/* The lowest bit that is set, for x > 0 */
static inline u32 lowest_bit(u64 x)
{
	return floor_log2(x & -x);
}

#endif
