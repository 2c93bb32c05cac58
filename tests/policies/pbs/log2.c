/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compares lib/log2.h with the C library's long double logarithm. Prints what it checked, or what is wrong. */
#include <math.h>
#include <stdio.h>
#include "lib/log2.h"

static int wrong(u64 x, const char *what)
{
	printf("log2_fixed(%llu) = %llu %s\n", x, log2_fixed(x), what);
	return 1;
}

/* The bound that the header states, in units of 2^-24 */
static int check(u64 x)
{
	long double below = log2l((long double)x) * (1 << LOG2_BITS) - log2_fixed(x);

	if (below < -1.0L / 128 || below >= 1.25L)
		return wrong(x, "is out of its bound");
	if (x > 1 && log2_fixed(x - 1) > log2_fixed(x))
		return wrong(x, "is less than the one before");
	if (x < 1ull << 63 && log2_fixed(2 * x) != log2_fixed(x) + (1 << LOG2_BITS))
		return wrong(x, "is not one below that of the double");
	return 0;
}

int main(void)
{
	u64 n = 0, random = 1;

	/* All small ones: at the last scale, 2^13 in each interval; */
	for (u64 x = 1; x < 1 << 22; x++, n++)
		if (check(x))
			return 1;
	for (int e = 0; e < 64; e++) {
		/* around every end of an interval at every scale; */
		for (u64 i = 0; i < 256; i++)
			for (u64 d = 0; d < 5; d++, n++) {
				u64 x = ((256 + i) << 55 >> (63 - e)) + d - 2;

				if (x && x + 1 && check(x))
					return 1;
			}
		/* and anywhere. */
		for (int i = 0; i < 20000; i++, n++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			if (check(random >> (63 - e) | 1ull << e))
				return 1;
		}
	}
	if (log2_fixed(0) || log2_fixed(~0ull) > 64ull << LOG2_BITS)
		return wrong(0, "at the ends");
	printf("%llu logarithms within their bound\n", n);
	return 0;
}
