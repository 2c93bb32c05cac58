/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* feasible: the weights of members, by order: tasks that are runnable, or in the queue of a policy with lazy removal (MEMBER of
 * machine/state.h). */
#ifndef DIVVY_FEASIBLE_STATE_H
#define DIVVY_FEASIBLE_STATE_H

#include "../../base.h"
#include "../../lib/bits.h"
#include "../../lib/ring.h"

#define FEASIBLE_PARAMS(P) \
	P(median, SWITCH, "", 1, 0, 1, \
	  "search the last group by halves; with 0 for its heaviest member, one by one (gr3 R10)") \
	P(asked, SWITCH, "", 0, 0, 1, \
	  "with no more tasks than CPUs weights stay as asked; with 0 all get the least one (sfs D4)")

#define FEASIBLE_ORDERS 64u
#define FEASIBLE_CANDIDATES (2 * MAX_CPUS) /* members of the last group are fewer: 2 (P - |I|) */

struct feasible {
	PARAMS(FEASIBLE_PARAMS);
	struct links members;       /* a list an order */
	u32 first[FEASIBLE_ORDERS]; /* G of each order sigma: weights in [2^sigma, 2^(sigma+1)) */
	u32 size[FEASIBLE_ORDERS];  /* |G| */
	u64 phi_g[FEASIBLE_ORDERS]; /* Phi_G, sum of the weights of G */
	u64 orders;                 /* bit sigma: G is not empty */
	u32 top;                    /* the greatest of them */
	u64 phi_t;                  /* Phi_T, sum of all weights */
	u32 n;                      /* members */
	u32 p;                      /* P, CPUs */
	u64 phi[POOL];              /* weight before readjustment */
	u8 order[POOL];             /* of phi */
	bool infeasible[POOL];      /* member of I */

	u32 q;             /* P - |I| */
	u64 rest;          /* Phi_T - Phi_I */
	u32 i;             /* |I| */
	u32 set[MAX_CPUS]; /* I */
	u64 cap;           /* the weight of each member of I */
	u32 was;           /* |I| before the last change */
	u32 old[MAX_CPUS]; /* I before the last change */
	/* members of the last group: those before `from` are in I, from `to` they are not */
	u32 candidate[FEASIBLE_CANDIDATES];
	u32 from, to;
	u32 heavier, lighter; /* between them, candidates as heavy as the pivot */
	u64 pivot;            /* phi_C' */
	u64 phi_b;            /* Phi_{G_B}, sum of the weights of the heavier ones */
	u64 at_order;         /* scratch of the searches below */
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

/* These two are NOINLINE, so that the verifier goes on with one state after them: sfs+procfair is 1.1 million instructions,
 * else 2.1. */
static NOINLINE void feasible_add(struct feasible *s, u32 id, u64 phi)
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

static NOINLINE void feasible_drop(struct feasible *s, u32 id)
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

#endif
