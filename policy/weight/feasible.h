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

#include "../policy.h"
#include "../lib/bits.h"
#include "../lib/ring.h"

#define FEASIBLE_PARAMS(P) \
	P(median, SWITCH, "", 1, 0, 1, "search the last group by halves; with 0 for its heaviest member, one by one (gr3 R10)")

#define FEASIBLE_TITLE "weight readjustment: no task asks for more than one CPU"

#define FEASIBLE_ORDERS 64u
#define FEASIBLE_CANDIDATES (2 * MAX_CPUS) /* members of the last group are fewer: 2 (P - |I|) */

struct feasible {
	PARAMS(FEASIBLE_PARAMS);
	struct links members;         /* runnable tasks, a list an order */
	u32 first[FEASIBLE_ORDERS];   /* G of each order sigma: weights in [2^sigma, 2^(sigma+1)) */
	u32 size[FEASIBLE_ORDERS];    /* |G| */
	u64 phi_g[FEASIBLE_ORDERS];   /* Phi_G, sum of the weights of G */
	u64 orders;                   /* bit sigma: G is not empty */
	u32 top;                      /* the greatest of them */
	u64 phi_t;                    /* Phi_T, sum of all weights */
	u32 n;                        /* runnable tasks */
	u32 p;                        /* P, CPUs */
	u64 phi[POOL];                /* weight before readjustment */
	u8 order[POOL];               /* of phi */
	bool infeasible[POOL];        /* member of I */

	u32 q;                        /* P - |I| */
	u64 rest;                     /* Phi_T - Phi_I */
	u32 i;                        /* |I| */
	u32 set[MAX_CPUS];            /* I */
	u64 cap;                      /* the weight of each member of I */
	u32 was;                      /* |I| before the last change */
	u32 old[MAX_CPUS];            /* I before the last change */
	u32 candidate[FEASIBLE_CANDIDATES]; /* members of the last group: those before `from` are in I, from `to` they are not */
	u32 from, to;
	u32 heavier, lighter;         /* between them, candidates as heavy as the pivot */
	u64 pivot;                    /* phi_C' */
	u64 phi_b;                    /* Phi_{G_B}, sum of the weights of the heavier ones */
	u64 at_order;                 /* scratch of the searches below */
	u64 at_phi;
	u32 at_id;
};

/* The order of a task's weight; one that comes back with the same weight has it already: 40 instructions of BPF. */
static inline u32 feasible_order(struct feasible *s, u32 id, u64 phi)
{
	if (s->phi[id & POOL_MASK] != phi) {
		s->phi[id & POOL_MASK] = phi;
		s->order[id & POOL_MASK] = floor_log2(phi);
	}
	return s->order[id & POOL_MASK] % FEASIBLE_ORDERS;
}

static inline void feasible_add(struct feasible *s, u32 id, u64 phi)
{
	u32 order = feasible_order(s, id, phi);

	ring_push_back(&s->members, &s->first[order], id);
	s->size[order]++;
	s->phi_g[order] += phi;
	s->orders |= 1ull << order;
	if (s->top < order)
		s->top = order;
	s->phi_t += phi;
	s->n++;
}

static inline void feasible_drop(struct feasible *s, u32 id)
{
	u64 phi = s->phi[id & POOL_MASK];
	u32 order = s->order[id & POOL_MASK] % FEASIBLE_ORDERS;

	ring_remove(&s->members, &s->first[order], id);
	s->size[order]--;
	s->phi_g[order] -= phi;
	if (!s->size[order]) {
		s->orders &= ~(1ull << order);
		if (order == s->top)
			s->top = floor_log2(s->orders);
	}
	s->phi_t -= phi;
	s->n--;
}

/* Put a task into I. */
static inline void feasible_take(struct feasible *s, u32 id)
{
	s->set[s->i++ & CPU_MASK] = id;
	s->infeasible[id & POOL_MASK] = true;
	s->rest -= s->phi[id & POOL_MASK];
	s->q--;
}

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
	if (!s->orders)
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
