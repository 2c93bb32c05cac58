/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * srpt: shortest remaining processing time. Of all jobs the one that will be done first runs.
 *
 * Schrage: "A Proof of the Optimality of the Shortest Remaining Processing Time Discipline" (Operations Research 16(3),
 * 1968). It needs to know how long jobs will run: a reference, papers/srpt.md.
 */
#include "../policy.h"
#include "../lib/heap.h"

#define POLICY_BASELINE
#define POLICY_SIMULATOR_ONLY "it has to know how long a task will run, which no kernel does; las is what can be done without"

#define POLICY_PARAMS(P)

#define POLICY_ABOUT(A) \
	A(TITLE, "shortest remaining processing time: knows the future; a reference") \
	A(PAPER, "Schrage: A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, Operations Research " \
		 "16(3), 1968") \
	A(GUARANTEE, "on one CPU without costs no schedule has a smaller mean response time") \
	A(COST, "O(log n)") \
	A(DEVIATION, "D1: of a job that pauses on its way only the work to the next pause is known") \
	A(DEVIATION, "D2: on P CPUs the P shortest run, which is not optimal there")

#define SRPT_FOREVER (1ull << 62) /* no job is longer: keys of the heap are less than 2^63 apart */

struct srpt {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	struct heap waiting; /* by R */
	u64 R[POOL];         /* remaining work of each job, ns */
};

static inline u64 *srpt_R(struct srpt *s, u32 id)
{
	return &s->R[id & POOL_MASK];
}

static inline void srpt_init(struct srpt *s)
{
}

/* Told before it joins, and while it runs if its program goes on to other work without a pause (srpt R2). */
#define POLICY_CLAIRVOYANT
static inline void srpt_bring(struct srpt *s, u32 id, u64 work)
{
	u64 room = SRPT_FOREVER - *srpt_R(s, id);

	*srpt_R(s, id) += work < room ? work : room;
}

static inline void srpt_join(struct srpt *s, u32 id, u64 now, enum why why)
{
	heap_insert(&s->waiting, id, *srpt_R(s, id));
}

/* Whose end comes before that of its work leaves none to the next of its number. */
static inline void srpt_leave(struct srpt *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
	if (why == EXITED)
		*srpt_R(s, id) = 0;
}

/* The least R runs, equal ones in the order in which they began to wait (srpt R1). */
static inline u32 srpt_pick(struct srpt *s, u32 cpu, u64 now)
{
	return heap_pop(&s->waiting);
}

static inline void srpt_charge(struct srpt *s, u32 id, u64 ran, u64 now)
{
	*srpt_R(s, id) -= ran < *srpt_R(s, id) ? ran : *srpt_R(s, id);
}

static inline void srpt_stop(struct srpt *s, u32 id, u64 now, enum why why)
{
	heap_insert(&s->waiting, id, *srpt_R(s, id));
}

static inline void srpt_reweigh(struct srpt *s, u32 id, u64 w, u64 now)
{
}

/* A turn has no end: while a job runs its R falls, and nobody else's does. */
#define POLICY_SLICE
static inline u64 srpt_slice(const struct srpt *s, u32 id)
{
	return SLICE_INF;
}

/* Who arrives preempts who has more left (srpt R1). */
#define POLICY_PREEMPTS
static inline bool srpt_preempts(struct srpt *s, u32 woken, u32 running, u64 now)
{
	return *srpt_R(s, woken) < *srpt_R(s, running);
}
