/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * las: least attained service, or foreground-background. Of all jobs the one that got the least service so far runs.
 *
 * Schrage: "The Queue M/G/1 with Feedback to Lower Priority Queues" (Management Science 13(7), 1967). It is PBS with
 * alpha = infinity: papers/las.md.
 */
#include "../policy.h"
#include "../lib/heap.h"

#define POLICY_BASELINE

#define POLICY_PARAMS(P) \
	P(session, SWITCH, "", 1, 0, 1, "a task that wakes is a new job, of no service so far; 0: all its service counts")

#define POLICY_SHOWS(V) V("attained service", "ns", *las_S(s, id))

#define POLICY_ABOUT(A) \
	A(TITLE, "least attained service: who got the least so far; ignores weights") \
	A(PAPER, "Schrage: The Queue M/G/1 with Feedback to Lower Priority Queues, Management Science 13(7), 1967") \
	A(GUARANTEE, "as the quantum goes to 0, it minimises the mean response of all that do not know sizes, where the hazard " \
		     "rate of sizes falls (Righter, Shanthikumar 1989)") \
	A(COST, "O(log n)") \
	A(DEVIATION, "D1: jobs with equal service take turns of a quantum, not infinitely short ones")

struct las {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	struct heap waiting; /* by service */
	u64 S[POOL];         /* attained service of each job, ns */
};

static inline u64 *las_S(struct las *s, u32 id)
{
	return &s->S[id & POOL_MASK];
}

static inline void las_init(struct las *s)
{
}

/* A job that arrives has no service (las R2). */
static inline void las_join(struct las *s, u32 id, u64 now, enum why why)
{
	if (why == NEW || s->param.session)
		*las_S(s, id) = 0;
	heap_insert(&s->waiting, id, *las_S(s, id));
}

static inline void las_leave(struct las *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
}

/* The least S runs, equal ones in the order in which they began to wait (las R1). */
static inline u32 las_pick(struct las *s, u32 cpu, u64 now)
{
	return heap_pop(&s->waiting);
}

static inline void las_charge(struct las *s, u32 id, u64 ran, u64 now)
{
	*las_S(s, id) += ran;
}

static inline void las_stop(struct las *s, u32 id, u64 now, enum why why)
{
	heap_insert(&s->waiting, id, *las_S(s, id));
}

static inline void las_reweigh(struct las *s, u32 id, u64 w, u64 now)
{
}

/* Who arrives preempts who has had more (las R3). */
#define POLICY_PREEMPTS
static inline bool las_preempts(struct las *s, u32 woken, u32 running, u64 now)
{
	return *las_S(s, woken) < *las_S(s, running);
}
