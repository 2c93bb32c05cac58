/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * GR3's Lemma 6: a readjustment takes O(P) steps. Counts the turns of all loops of weight/feasible.h where the last group
 * has as many infeasible members as can be: P weights of one order, of which only the least is feasible, and a light one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "policy.h"

static unsigned long steps;
#undef can_loop
#define can_loop (++steps)
#include "weight/feasible.h"

static struct feasible s;

static unsigned long readjust(u32 p, bool median)
{
	u64 x = 1;

	s = (struct feasible){ .p = p, .param.median = median };
	feasible_add(&s, 1, 1);
	feasible_add(&s, 2, 1ull << 30);
	for (u32 id = 3; id < p + 2; id++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		feasible_add(&s, id, (1ull << 30) + (1ull << 29) + (x >> 35));
	}
	steps = 0;
	feasible_readjust(&s);
	return steps;
}

int main(void)
{
	bool linear = true;

	for (u32 p = 2; p <= MAX_CPUS; p *= 2) {
		unsigned long median = readjust(p, true), heaviest = readjust(p, false);

		printf("P %u: |I| %u, steps %lu by halves, %lu by the heaviest\n", p, s.i, median, heaviest);
		linear &= s.i == p - 1 && median <= 16 * p;
	}
	return !linear;
}
