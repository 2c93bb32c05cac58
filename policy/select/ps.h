/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ps: processor sharing. All runnable tasks run at once, each at the same rate. Here they take turns that are so short
 * that the difference does not matter.
 *
 * It is a reference for queueing formulas and papers, not a scheduler: papers/ps.md.
 */
#include "../policy.h"
#include "../lib/ring.h"

#define POLICY_TITLE "processor sharing: all at the same rate; a reference"
#define POLICY_BASELINE
#define POLICY_SIMULATOR_ONLY \
	"its turns are shorter than a kernel's tick, which ends turns; rr is what a kernel can do of it"
#define POLICY_HAS SLICE

#define POLICY_PARAMS(P) P(turn, TIME, "ns", 50000, 1000, 10 * MS, "how long a task runs before the next does")

struct ps {
	POLICY_STATE;
	struct links waiting;
	u32 first; /* the first waiting task */
};

/* A task that becomes runnable is last in the run queue, and has its part from now on (ps R2). */
static inline void ps_join(struct ps *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->first, id);
}

static inline void ps_leave(struct ps *s, u32 id, u64 now, enum why why)
{
	if (!is_picked(&s->tasks, id))
		ring_remove(&s->waiting, &s->first, id);
}

static inline u32 ps_pick(struct ps *s, u32 cpu, u64 now)
{
	return ring_pop_front(&s->waiting, &s->first);
}

static inline void ps_stop(struct ps *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->first, id);
}

/* All slices are equal, and tasks run in turn (ps R1). */
static inline u64 ps_slice(const struct ps *s, u32 id)
{
	return s->param.turn;
}
