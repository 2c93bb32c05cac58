/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fcfs: first come, first served. Who became runnable first runs until it blocks.
 *
 * PBS with alpha = 0, and the bound on one side of that paper's Figure 1: papers/fcfs.md.
 */
#include "../policy.h"
#include "../lib/ring.h"

#define POLICY_BASELINE

#define POLICY_PARAMS(P)

#define POLICY_ABOUT(A) \
	A(TITLE, "first come, first served: runs until it blocks") \
	A(PAPER, "Erlang: Solution of some problems in the theory of probabilities (1917), and every textbook since") \
	A(GUARANTEE, "tasks finish a burst in the order in which they became runnable, on one CPU") \
	A(COST, "O(1)")

struct fcfs {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	struct links waiting;
	u32 first; /* in line: the one that became runnable first */
};

static inline void fcfs_init(struct fcfs *s)
{
}

static inline void fcfs_join(struct fcfs *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->first, id);
}

static inline void fcfs_leave(struct fcfs *s, u32 id, u64 now, enum why why)
{
	if (!is_picked(&s->facts, id))
		ring_remove(&s->waiting, &s->first, id);
}

static inline u32 fcfs_pick(struct fcfs *s, u32 cpu, u64 now)
{
	return ring_pop_front(&s->waiting, &s->first);
}

static inline void fcfs_charge(struct fcfs *s, u32 id, u64 ran, u64 now)
{
}

/* Whoever ran came before all who wait, so it is first again (fcfs R1), unless it gave way itself (fcfs R2). */
static inline void fcfs_stop(struct fcfs *s, u32 id, u64 now, enum why why)
{
	if (why == YIELDED)
		ring_push_back(&s->waiting, &s->first, id);
	else
		ring_push_front(&s->waiting, &s->first, id);
}

static inline void fcfs_reweigh(struct fcfs *s, u32 id, u64 w, u64 now)
{
}

/* A turn has no end. */
#define POLICY_SLICE
static inline u64 fcfs_slice(const struct fcfs *s, u32 id)
{
	return SLICE_INF;
}
