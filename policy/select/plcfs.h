/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * plcfs: preemptive last come, first served. The newest job runs until it ends, then the one that it interrupted.
 *
 * Kleinrock: "Queueing Systems, Volume II" (1976), and every textbook since. It is PBS with alpha just below 0:
 * papers/plcfs.md.
 */
#include "../policy.h"
#include "../lib/ring.h"

#define POLICY_PARAMS(P)

#define POLICY_ABOUT(A) \
	A(TITLE, "preemptive last come, first served: the newest job runs until it blocks") \
	A(PAPER, "Kleinrock: Queueing Systems, Volume II: Computer Applications, 1976") \
	A(GUARANTEE, "on one CPU with Poisson arrivals the mean response of a job is its size over 1 - load, whatever the sizes") \
	A(COST, "O(1), and O(CPUs) when a task wakes") \
	A(DEVIATION, "D1: on P CPUs the newest P run")

struct plcfs {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	struct links stack; /* jobs, the newest first */
	u32 newest;
	u32 found;          /* the newest that waits */
	u64 arrivals;       /* so far */
	u64 arrived[POOL];  /* the number of each job's arrival */
};

static inline void plcfs_init(struct plcfs *s)
{
}

static inline void plcfs_join(struct plcfs *s, u32 id, u64 now, enum why why)
{
	s->arrived[id & POOL_MASK] = ++s->arrivals;
	ring_push_front(&s->stack, &s->newest, id);
}

static inline void plcfs_leave(struct plcfs *s, u32 id, u64 now, enum why why)
{
	ring_remove(&s->stack, &s->newest, id);
}

/* The newest that is not picked; there are at most as many picked ones before it as there are CPUs or parked tasks. */
static NOINLINE void plcfs_find(struct plcfs *s)
{
	s->found = s->newest;
	while (s->found && is_picked(&s->facts, s->found) && can_loop) {
		s->found = ring_next(&s->stack, s->found);
		if (s->found == s->newest)
			s->found = 0;
	}
}

/* The newest runs (plcfs R1). */
static inline u32 plcfs_pick(struct plcfs *s, u32 cpu, u64 now)
{
	plcfs_find(s);
	return s->found;
}

static inline void plcfs_charge(struct plcfs *s, u32 id, u64 ran, u64 now)
{
}

/* It keeps its place (plcfs R1), unless it gave way itself: then it is the oldest (plcfs R3). */
static inline void plcfs_stop(struct plcfs *s, u32 id, u64 now, enum why why)
{
	if (why != YIELDED)
		return;
	s->arrived[id & POOL_MASK] = 0;
	ring_remove(&s->stack, &s->newest, id);
	ring_push_back(&s->stack, &s->newest, id);
}

static inline void plcfs_reweigh(struct plcfs *s, u32 id, u64 w, u64 now)
{
}

/* A turn has no end. */
#define POLICY_SLICE
static inline u64 plcfs_slice(const struct plcfs *s, u32 id)
{
	return SLICE_INF;
}

/* Who arrives interrupts who is older (plcfs R2). */
#define POLICY_PREEMPTS
static inline bool plcfs_preempts(struct plcfs *s, u32 woken, u32 running, u64 now)
{
	return s->arrived[woken & POOL_MASK] > s->arrived[running & POOL_MASK];
}
