/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* pbs: until when the winner of a match is sure to win it. */
#ifndef DIVVY_PBS_UNTIL_H
#define DIVVY_PBS_UNTIL_H

#include "../../lib/pbs.h"

#define PBS_NEVER (~0ull)

/*
 * At least 1 - 2^-y, for y > 0, both in 2^-40. With y = k + f and u = f ln 2, 1 - 2^-f is below
 * u - u^2/2 + u^3/6 - u^4/24 + u^5/120, by less than u^6/720; what is added is rounded up, what is taken off, down.
 */
static inline u64 pbs_lost(u64 y)
{
	u64 one = 1ull << 40, k = y >> 40, u = ((y & (one - 1)) * 11629080 >> 24) + 1; /* ln 2, in 2^-24, rounded up */
	u64 v = u >> 9, w = v + 1; /* u in 2^-31, so that products fit */
	u64 square = v * v >> 31, square_up = (w * w >> 31) + 1;
	u64 cube_up = (square_up * w >> 31) + 1, fourth = square * square >> 31;
	u64 fifth_up = (cube_up * square_up >> 31) + 1;
	u64 lost = u - (square << 8) + (cube_up << 9) / 6 + 1 - ((fourth << 9) / 24 + 1) + (fifth_up << 9) / 120 + 2;

	return k > 40 ? one : one - ((one - lost) >> k);
}

/* At most x / part, for part in 2^-40; PBS_NEVER if that is 2^63 or more. */
static inline u64 pbs_divide(u64 x, u64 part)
{
	u64 zeros = __builtin_clzll(x | 1);
	u64 quotient = (x << zeros) / part; /* 23 bits or more */

	if (zeros >= 40)
		return quotient >> (zeros - 40);
	return quotient >> (23 + zeros) ? PBS_NEVER : quotient << (40 - zeros);
}

static inline u64 pbs_lesser(u64 a, u64 b)
{
	return a < b ? a : b;
}

/*
 * The same with a second priority, whose logarithms may cross twice: a time before which they do not. While all T are at least m,
 * log T grows in dt by less than 1.5 dt / m, so the lead is sure for m lead / (1.5 (1 + epsilon)), less the logarithms' errors.
 */
static NOINLINE u64 pbs_until_combined(const struct pbs_terms *x, const struct pbs_task *t, const struct pbs_task *u,
				       s64 lead, u64 now)
{
	u64 terms = RATIO_ONE + x->epsilon, m = now - u->prime.tau, one = 1 << 24, part;
	s64 sure = lead - (s64)(4 * PBS_ERROR * terms >> 16) - 4;

	if (sure <= 0)
		return now + 1;
	m = pbs_lesser(m, now - (x->sign > 0 ? u : t)->of.tau);
	part = pbs_lesser((u64)sure / (2 * terms), one); /* of m, in 2^-24; 2 for 1.5 */
	return now + 1 + (m >> 24) * part + ((m & (one - 1)) * part >> 24);
}

/*
 * The first time at which task u may precede t, which precedes it now.
 *
 * T/S^alpha of t and u are equal when T_t / T_u = 2^-D, D the difference of the constant parts of p. If t is the one
 * that wins ties (the older, for alpha > 0), it loses its lead as the ratio of the two T goes to 1: never for D >= 0,
 * else when T of the older is gap / (1 - 2^D), gap the difference of their ages. If it is the other one, its lead grows. A
 * lead is sure when it is more than what two logarithms may be off (pbs R13).
 */
static NOINLINE u64 pbs_until(const struct pbs_terms *x, const struct pbs_task *t, const struct pbs_task *u, s64 lead,
			      u64 now)
{
	bool t_older = t->of.tau < u->of.tau;
	u64 tau = t_older ? t->of.tau : u->of.tau, gap = (t_older ? u->of.tau : t->of.tau) - tau, span;
	s64 D = pbs_constant(x, t) - pbs_constant(x, u);

	if (x->is_las || pbs_is_newcomer(x, t))
		return PBS_NEVER;
	if (x->epsilon)
		return pbs_until_combined(x, t, u, lead, now);
	if (!gap)
		return PBS_NEVER;
	if (!pbs_is_favoured(x, t, u))
		return lead > 2 * PBS_ERROR && now - tau > gap ? PBS_NEVER : now + 1;
	if (D >= 0)
		return PBS_NEVER;
	span = pbs_divide(gap, pbs_lost(PBS_ERROR - D));
	if (span >= PBS_NEVER - tau)
		return PBS_NEVER;
	return tau + span > now ? tau + span : now + 1;
}

#endif
