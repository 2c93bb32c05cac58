/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * wfq: weighted fair queueing, or PGPS. Who would finish its next quantum first in a fluid system runs.
 *
 * Demers, Keshav, Shenker: "Analysis and Simulation of a Fair Queueing Algorithm" (SIGCOMM 1989); Parekh, Gallager: "A
 * Generalized Processor Sharing Approach to Flow Control" (1993): papers/wfq.md.
 */
#include "../policy.h"
#include "../lib/fluid.h"
#include "../lib/heap.h"
#include "../lib/vtime.h"

#define POLICY_BASELINE

#define POLICY_PARAMS(P)

#define POLICY_SHOWS(V) V("start tag", "ns of a nice-0 task", wfq_S(s, id)->v)

#define POLICY_ABOUT(A) \
	A(TITLE, "weighted fair queueing: the first to finish in the fluid system") \
	A(PAPER, "Demers, Keshav, Shenker: Analysis and Simulation of a Fair Queueing Algorithm, SIGCOMM 1989; Parekh, " \
		 "Gallager, 1993") \
	A(GUARANTEE, "on one CPU, a task that stays runnable is never a quantum or more behind the fluid system") \
	A(GUARANTEE, "ahead of it by up to (N - 1) phi/Phi quanta of N tasks; on several CPUs use wfq+feasible") \
	A(COST, "O(log n)") \
	A(DEVIATION, "D1: tags are made with a quantum, and corrected by what of it was used") \
	A(DEVIATION, "D2: on P CPUs V advances by the service of all CPUs")

struct wfq {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	struct fluid fluid;
	struct heap waiting; /* by F */
	struct vtime S[POOL]; /* start tag of the next quantum, which is the finish tag of what was served */
};

static inline struct vtime *wfq_S(struct wfq *s, u32 id)
{
	return &s->S[id & POOL_MASK];
}

static inline void wfq_init(struct wfq *s)
{
}

/* F = S + L/phi, with a quantum for the length L (wfq R1) */
static inline u64 wfq_F(struct wfq *s, u32 id, u64 phi)
{
	return vtime_after(*wfq_S(s, id), s->facts.quantum, phi);
}

/* S = max(F, V) (wfq R2) */
static inline void wfq_join(struct wfq *s, u32 id, u64 now, enum why why)
{
	struct vtime *S = wfq_S(s, id);
	u64 phi = weight_of(&s->facts, id);

	fluid_join(&s->fluid, id, phi);
	if (why == NEW || vtime_before(S->v, s->fluid.V.v))
		*S = (struct vtime){ .v = s->fluid.V.v };
	heap_insert(&s->waiting, id, wfq_F(s, id, phi));
}

/* It is busy in the fluid system until V reaches its last finish tag (wfq R3). */
static inline void wfq_leave(struct wfq *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
	fluid_leave(&s->fluid, id, wfq_S(s, id)->v, weight_of(&s->facts, id));
	if (s->facts.nrunnable == 1)
		fluid_drain(&s->fluid);
}

/* The least F runs, equal ones in the order in which they began to wait (wfq R1). */
static inline u32 wfq_pick(struct wfq *s, u32 cpu, u64 now)
{
	return heap_pop(&s->waiting);
}

static inline void wfq_charge(struct wfq *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(wfq_S(s, id), ran, weight_of(&s->facts, id));
	fluid_serve(&s->fluid, ran);
}

static inline void wfq_stop(struct wfq *s, u32 id, u64 now, enum why why)
{
	heap_insert(&s->waiting, id, wfq_F(s, id, weight_of(&s->facts, id)));
}

/* From its start tag on it is served at the new weight (wfq R4). */
static inline void wfq_reweigh(struct wfq *s, u32 id, u64 w, u64 now)
{
	fluid_set_weights(&s->fluid, s->fluid.w - weight_of(&s->facts, id) + w);
	vtime_reweigh(wfq_S(s, id));
	heap_rekey(&s->waiting, id, wfq_F(s, id, w));
}
