/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * feasible: weight readjustment. A thread cannot use more than one CPU, so a weight that asks for more is
 * lowered to ask for just one; the others keep theirs.
 *
 * Chandra, Adler, Goyal, Shenoy: "Surplus Fair Scheduling" (OSDI 2000), section 2.1, by the algorithm of
 * Caprita, Chan, Nieh, Stein, Zheng: "Group Ratio Round-Robin" (USENIX 2005), section 3.3, which finds the
 * same weights without a sorted list: papers/sfs.md, papers/gr3.md.
 */
#ifndef DIVVY_FEASIBLE_H
#define DIVVY_FEASIBLE_H

#include "feasible/search.h"

#define FEASIBLE_TITLE "weight readjustment: no task asks for more than one CPU"

static NOINLINE void feasible_forget(struct feasible *s)
{
	s->was = s->i;
	while (s->i && can_loop) {
		s->i--;
		s->old[s->i & CPU_MASK] = s->set[s->i & CPU_MASK];
		s->infeasible[s->set[s->i & CPU_MASK] & POOL_MASK] = false;
	}
}

static NOINLINE void feasible_take_group(struct feasible *s)
{
	u32 first = s->first[s->at_order % FEASIBLE_ORDERS];

	s->at_id = first;
	while (s->at_id && can_loop) {
		feasible_take(s, s->at_id);
		s->at_id = ring_next(&s->members, s->at_id);
		if (s->at_id == first)
			s->at_id = 0;
	}
}

/* The lightest member of the group at_order, into at_phi. */
static NOINLINE void feasible_lightest(struct feasible *s)
{
	u32 first = s->first[s->at_order % FEASIBLE_ORDERS], id = first;

	s->at_phi = WEIGHT_MAX;
	while (id && can_loop) {
		if (s->phi[id & POOL_MASK] < s->at_phi)
			s->at_phi = s->phi[id & POOL_MASK];
		id = ring_next(&s->members, id);
		if (id == first)
			break;
	}
}

/* The greatest order below `below` whose group is not empty, into at_order; false if there is none. */
static inline bool feasible_next_group(struct feasible *s, u64 below)
{
	u64 left = below >= FEASIBLE_ORDERS ? s->orders : s->orders & ((1ull << below) - 1);

	s->at_order = floor_log2(left);
	return left;
}

/* |G| < P - |I| and 2^sigma > (Phi_T - Phi_I - Phi_G) / (P - |I| - |G|): all of G is infeasible (gr3 R9) */
static inline bool feasible_whole_group(const struct feasible *s)
{
	u64 g = s->at_order % FEASIBLE_ORDERS;

	return s->size[g] < s->q && (1ull << g) * (s->q - s->size[g]) > s->rest - s->phi_g[g];
}

static NOINLINE void feasible_take_whole_groups(struct feasible *s)
{
	while (feasible_whole_group(s) && can_loop) {
		feasible_take_group(s);
		if (!feasible_next_group(s, s->at_order))
			break;
	}
}

static NOINLINE void feasible_take_everybody(struct feasible *s)
{
	while (feasible_next_group(s, s->at_order) && can_loop)
		feasible_take_group(s);
}

/*
 * Whether I is empty and stays so: a weight below 2^(top+1), which is all of them, asks for no more than a CPU. True of
 * most changes where tasks are many, and then the search below, of some 400 instructions, has nothing to find.
 */
static inline bool feasible_stays(const struct feasible *s)
{
	return !s->i && s->n > s->p && (2ull << (s->top % FEASIBLE_ORDERS)) * s->p <= s->phi_t;
}

/* Finds I and the weight of its members anew, from the original weights (sfs R1, gr3 R8). */
static inline void feasible_readjust(struct feasible *s)
{
	feasible_forget(s);
	s->q = s->p;
	s->rest = s->phi_t;
	s->at_order = s->top;
	if (!s->orders || (s->param.asked && s->n <= s->p)) /* (sfs D4) */
		return;
	if (s->n <= s->p) { /* each has a CPU of its own (gr3 D4) */
		s->at_order = lowest_bit(s->orders);
		feasible_lightest(s);
		s->cap = s->at_phi;
		s->at_order = FEASIBLE_ORDERS;
		feasible_take_everybody(s);
		return;
	}
	feasible_take_whole_groups(s);
	if (s->size[s->at_order % FEASIBLE_ORDERS] < 2 * s->q)
		feasible_search(s);
	/* Phi_T' / P = (Phi_T - Phi_I) / (P - |I|), rounded down, so that P times it is within the total */
	s->cap = s->rest / (s->q ? s->q : 1);
}

static inline u64 feasible_weight(const struct feasible *s, u32 id)
{
	return s->infeasible[id & POOL_MASK] ? s->cap : s->phi[id & POOL_MASK];
}

#endif
