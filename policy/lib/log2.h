/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Base-2 logarithms of integers in fixed point, for policies that compare powers and products of times.
 *
 * With x = 2^e (1 + f), log2 x is e + log2(1 + f), and the latter comes from a table of 256 intervals of f
 * by the parabola through an interval's two ends and the next one's. The result is at most 2^-31 above log2 x
 * (the table's rounding) and less than 1.25 * 2^-24 below it (that, 2^-26.4 for the parabola, which lies
 * below the curve, and 2^-24 for rounding down).
 *
 * It never decreases with x (a step along an interval adds far more than the rounding of the parabola's
 * second term takes), and log2_fixed(2^k x) is k + log2_fixed(x) exactly: what is compared by it keeps its
 * order, and is compared alike at every scale that is a power of two.
 */
#ifndef DIVVY_LOG2_H
#define DIVVY_LOG2_H

#include "../base.h"
#include "log2_table.h"

#define LOG2_BITS 24 /* fractional bits of a result */

/* log2 x for x > 0, and 0 for 0 */
static inline u64 log2_fixed(u64 x)
{
	u64 e = 63 - __builtin_clzll(x | 1); /* no branches, in BPF either */
	u64 m = x << (63 - e);               /* 1 + f, in 2^-63 */
	u32 i = m >> 55 & 255;               /* the interval of f */
	u64 t = m >> 31 & 0xffffff;          /* how far in it, in 2^-24 */
	u64 rise = log2_table[i + 1] - log2_table[i];
	u64 bend = 2 * (u64)log2_table[i + 1] - log2_table[i] - log2_table[i + 2];
	u64 bulge = t * ((1 << 24) - t) / 2 * bend >> 24;

	return (e << LOG2_BITS) + ((((u64)log2_table[i] << 24) + t * rise + bulge) >> (54 - LOG2_BITS));
}

#endif
