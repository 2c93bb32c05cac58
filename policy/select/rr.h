/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rr: round-robin. The first task of the run queue runs for a quantum and goes to the end of the run queue.
 *
 * It is the baseline of every paper here, and ignores weights. As the quantum goes to 0 it becomes processor
 * sharing: papers/rr.md.
 */
#include "../policy.h"
#include "../lib/ring.h"

#define POLICY_TITLE "round-robin: equal quanta in turn, weights ignored"
#define POLICY_BASELINE
#define POLICY_COUNTS_SLICES

struct rr {
	POLICY_STATE;
	struct links waiting;
	u32 first; /* the first waiting task */
};

/* New and woken tasks go to the end of the run queue (rr R1). */
static inline void rr_join(struct rr *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->first, id);
}

static inline void rr_leave(struct rr *s, u32 id, u64 now, enum why why)
{
	if (!is_picked(&s->tasks, id))
		ring_remove(&s->waiting, &s->first, id);
}

static inline u32 rr_pick(struct rr *s, u32 cpu, u64 now)
{
	return ring_pop_front(&s->waiting, &s->first);
}

/* A task goes to the end of the run queue, whatever ended its slice (rr R2). */
static inline void rr_stop(struct rr *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->first, id);
}
