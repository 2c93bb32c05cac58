/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* gr3: what it keeps of groups and clients. */
#ifndef DIVVY_GR3_STATE_H
#define DIVVY_GR3_STATE_H

#include "../../policy.h"
#include "../../lib/bits.h"
#include "../../lib/ring.h"

#define POLICY_PARAMS(P) \
	P(literal, SWITCH, "", 0, 0, 1, \
	  "rescale the work of a group that changes by the formula of section 2.3 (gr3 D6)") \
	P(frontlog, INTEGER, "quanta", GR3_F, 1, GR3_F_MAX, \
	  "a client's frontlog grows to no more than this; the paper's has no limit (gr3 D2)")

#define GR3_GROUPS 64u
#define GR3_SELECTIONS_MAX 1024u
/* Removals in one decision: under procfair each changes the weights of all threads of its process. */
#define GR3_REMOVALS_MAX 16u
#define GR3_QUANTUM (1ull << 8) /* of W: a change of weight leaves no rest worth speaking of, and products are short */
#define GR3_W_MAX (1ull << 62)
#define GR3_F_MAX (1ll << 20) /* three hours of quanta of 10 ms */
/* Whole quanta and feasible weights made less than half of it, in tests. Parts of quanta make frontlogs without bound. */
#define GR3_F 64

struct gr3_group {
	u64 phi;   /* Phi_G, sum of the weights of its clients */
	u64 W1;    /* W_G + 1: quanta that it received, and the one that it would get next; in 2^-8 */
	u32 k;     /* its current client; it is empty when 0 */
	bool over; /* the turn of k is over, whatever its deficit */
	u32 next;  /* in the group list, 0 after the last */
	u32 prev;
};

struct gr3_task {
	u64 phi;   /* weight under which it is in its group, 0 when it is in none */
	u32 group; /* of phi, as the logarithm is 40 instructions of BPF */
	u64 D;     /* deficit, in 1/phi_min quanta, phi_min = 2^order */
	u64 F;     /* frontlog, quanta: selected while it was running already */
	u32 home;  /* 1 + the CPU in whose frontlog queue it is, 0 when it is in none */
	bool away; /* not runnable, and still in its group */
};

struct gr3 {
	POLICY_STATE;
	struct gr3_group group[GR3_GROUPS]; /* by 1 + order; [0] is the head of the group list */
	u32 i;                              /* current group, 0 for the first of the list */
	u64 phi_t;                          /* Phi_T, sum of all weights */
	u64 W_T;                            /* quanta given out from the queue since it was empty */
	u64 F_T;                            /* frontlog in total, quanta */
	u64 F_cpu[MAX_CPUS];                /* frontlog in each CPU's queue, quanta */
	u32 front[MAX_CPUS];                /* first in each CPU's frontlog queue */
	struct links fronts;
	struct links members; /* of each group */
	struct links waiting; /* runnable and not picked */
	u32 longest;          /* of those: the one that began to wait first */
	u32 found;            /* scratch of the searches below */
	u32 selections;
	u32 removals; /* for the decision that is being made */
	TASKS(gr3_task);
};

static inline struct gr3_group *gr3_group(struct gr3 *s, u32 G)
{
	return &s->group[G % GR3_GROUPS];
}

/* Weights from 2^order to 2^(order+1) - 1 are one group (gr3 R1). */
static inline u32 gr3_group_of(u64 phi)
{
	return 1 + floor_log2(phi);
}

#endif
