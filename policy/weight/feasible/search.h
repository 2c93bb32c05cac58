/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* feasible: INFEASIBLE of the GR3 paper, the search for the infeasible members of one group (gr3 R10). */
#ifndef DIVVY_FEASIBLE_SEARCH_H
#define DIVVY_FEASIBLE_SEARCH_H

#include "state.h"

/* The heaviest member of the group at_order that is not in I, into at_id. */
static NOINLINE void feasible_heaviest(struct feasible *s)
{
	u32 first = s->first[s->at_order % FEASIBLE_ORDERS], id = first;

	s->at_id = 0;
	s->at_phi = 0;
	while (id && can_loop) {
		if (!s->infeasible[id & POOL_MASK] && s->phi[id & POOL_MASK] > s->at_phi) {
			s->at_phi = s->phi[id & POOL_MASK];
			s->at_id = id;
		}
		id = ring_next(&s->members, id);
		if (id == first)
			break;
	}
}

/* INFEASIBLE(G, P - |I|, Phi_T - Phi_I): the heaviest first, until one is feasible (gr3 R10) */
static NOINLINE void feasible_take_heavy(struct feasible *s)
{
	while (can_loop) {
		feasible_heaviest(s);
		if (!s->at_id || s->at_phi * s->q <= s->rest)
			break;
		feasible_take(s, s->at_id);
	}
}

static NOINLINE void feasible_gather(struct feasible *s)
{
	u32 first = s->first[s->at_order % FEASIBLE_ORDERS], id = first;

	s->from = 0;
	s->to = 0;
	while (id && can_loop) {
		s->candidate[s->to++ % FEASIBLE_CANDIDATES] = id;
		id = ring_next(&s->members, id);
		if (id == first)
			break;
	}
}

static inline u32 *feasible_candidate(struct feasible *s, u32 at)
{
	return &s->candidate[at % FEASIBLE_CANDIDATES];
}

static inline void feasible_swap(struct feasible *s, u32 a, u32 b)
{
	u32 id = *feasible_candidate(s, a);

	*feasible_candidate(s, a) = *feasible_candidate(s, b);
	*feasible_candidate(s, b) = id;
}

/* PARTITION(G, phi_C'): the candidates from at_id to `lighter` are not compared yet. */
static NOINLINE void feasible_partition(struct feasible *s)
{
	while (s->at_id < s->lighter && can_loop) {
		u64 phi = s->phi[*feasible_candidate(s, s->at_id) & POOL_MASK];

		if (phi < s->pivot) {
			feasible_swap(s, s->at_id, --s->lighter);
			continue;
		}
		if (phi > s->pivot) {
			feasible_swap(s, s->at_id, s->heavier++);
			s->phi_b += phi;
		}
		s->at_id++;
	}
}

/*
 * INFEASIBLE(G, Q, Phi) by halves: C' is infeasible if phi_C' > (Phi - Phi_{G_B}) / (Q - |G_B|), and then so are those
 * that are as heavy; the search goes on among the lighter, else among the heavier ones (gr3 R10, D5). With Q heavier
 * ones C' is feasible, as fewer than Q can be infeasible.
 */
static NOINLINE void feasible_halve(struct feasible *s)
{
	u64 q = s->q, rest = s->rest;

	while (s->from < s->to && can_loop) {
		u64 b;

		s->pivot = s->phi[*feasible_candidate(s, (s->from + s->to) / 2) & POOL_MASK];
		s->heavier = s->at_id = s->from;
		s->lighter = s->to;
		s->phi_b = 0;
		feasible_partition(s);
		b = s->heavier - s->from;
		if (b < q && s->pivot * (q - b) > rest - s->phi_b) {
			rest -= s->phi_b + s->pivot * (s->lighter - s->heavier);
			q -= s->lighter - s->from;
			s->from = s->lighter;
		} else {
			s->to = s->heavier;
		}
	}
}

static NOINLINE void feasible_take_candidates(struct feasible *s)
{
	while (s->from && can_loop)
		feasible_take(s, *feasible_candidate(s, --s->from));
}

static inline void feasible_search(struct feasible *s)
{
	if (!s->param.median) {
		feasible_take_heavy(s);
		return;
	}
	feasible_gather(s);
	feasible_halve(s);
	feasible_take_candidates(s);
}

#endif
