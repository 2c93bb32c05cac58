/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fcfs: first come, first served. The task that became runnable first runs until it blocks.
 *
 * It is PBS with alpha = 0, and the bound on one side of that paper's Figure 1: papers/fcfs.md.
 */
#include "../policy.h"
#include "../lib/ring.h"

#define POLICY_TITLE "first come, first served: runs until it blocks"
#define POLICY_BASELINE
#define POLICY_HAS SLICE

struct fcfs {
	POLICY_STATE;
	struct links waiting;
	u32 first; /* the waiting task that became runnable first */
};

static inline void fcfs_join(struct fcfs *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->first, id);
}

static inline void fcfs_leave(struct fcfs *s, u32 id, u64 now, enum why why)
{
	if (!is_picked(&s->tasks, id))
		ring_remove(&s->waiting, &s->first, id);
}

static inline u32 fcfs_pick(struct fcfs *s, u32 cpu, u64 now)
{
	return ring_pop_front(&s->waiting, &s->first);
}

/* The task that ran came before all that wait, so it is first again (fcfs R1), unless it yielded (fcfs R2). */
static inline void fcfs_stop(struct fcfs *s, u32 id, u64 now, enum why why)
{
	if (why == YIELDED)
		ring_push_back(&s->waiting, &s->first, id);
	else
		ring_push_front(&s->waiting, &s->first, id);
}

/* A slice has no end. */
static inline u64 fcfs_slice(const struct fcfs *s, u32 id)
{
	return SLICE_INF;
}
