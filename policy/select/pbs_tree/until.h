/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* pbs_tree: until when the winner of a match is sure to win it. */
#ifndef DIVVY_PBS_TREE_UNTIL_H
#define DIVVY_PBS_TREE_UNTIL_H

#include "../../lib/pbs.h"

#define PBS_TREE_NEVER (~0ull)

/*
 * At least 1 - 2^-y, for y > 0, both in 2^-40. With y = k + f and u = f ln 2, 1 - 2^-f is below
 * u - u^2/2 + u^3/6 - u^4/24 + u^5/120, by less than u^6/720; what is added is rounded up, what is taken off, down.
 */
static inline u64 pbs_tree_lost(u64 y)
{
	u64 one = 1ull << 40, k = y >> 40, u = ((y & (one - 1)) * 11629080 >> 24) + 1; /* ln 2, in 2^-24, rounded up */
	u64 v = u >> 9, w = v + 1; /* u in 2^-31, so that products fit */
	u64 square = v * v >> 31, square_up = (w * w >> 31) + 1;
	u64 cube_up = (square_up * w >> 31) + 1, fourth = square * square >> 31;
	u64 fifth_up = (cube_up * square_up >> 31) + 1;
	u64 lost = u - (square << 8) + (cube_up << 9) / 6 + 1 - ((fourth << 9) / 24 + 1) + (fifth_up << 9) / 120 + 2;

	return k > 40 ? one : one - ((one - lost) >> k);
}

/* At most x / part, for part in 2^-40; PBS_TREE_NEVER if that is 2^63 or more. */
static inline u64 pbs_tree_divide(u64 x, u64 part)
{
	u64 zeros = __builtin_clzll(x | 1);
	u64 quotient = (x << zeros) / part; /* 23 bits or more */

	if (zeros >= 40)
		return quotient >> (zeros - 40);
	return quotient >> (23 + zeros) ? PBS_TREE_NEVER : quotient << (40 - zeros);
}

/*
 * The first time at which task u may precede t, which precedes it now.
 *
 * T/S^alpha of t and u are equal when T_t / T_u = 2^-D, D the difference of the constant parts of p. If t is the one
 * that wins ties (the older, for alpha > 0), it loses its lead as the ratio of the two T goes to 1: never for D >= 0,
 * else when T of the older is gap / (1 - 2^D), gap the difference of their ages. If it is the other one, its lead grows. A
 * lead is sure when it is more than what two logarithms may be off (pbs R13).
 */
static NOINLINE u64 pbs_tree_until(const struct pbs_terms *x, const struct pbs_task *t, const struct pbs_task *u,
				   s64 lead, u64 now)
{
	bool t_older = t->of.tau < u->of.tau;
	u64 tau = t_older ? t->of.tau : u->of.tau, gap = (t_older ? u->of.tau : t->of.tau) - tau, span;
	s64 D = pbs_constant(x, t) - pbs_constant(x, u);

	if (x->is_las || !gap || (x->size && !t->of.S))
		return PBS_TREE_NEVER;
	if (!pbs_is_favoured(x, t, u))
		return lead > 2 * PBS_ERROR && now - tau > gap ? PBS_TREE_NEVER : now + 1;
	if (D >= 0)
		return PBS_TREE_NEVER;
	span = pbs_tree_divide(gap, pbs_tree_lost(PBS_ERROR - D));
	if (span >= PBS_TREE_NEVER - tau)
		return PBS_TREE_NEVER;
	return tau + span > now ? tau + span : now + 1;
}

#endif
