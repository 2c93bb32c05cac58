/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ps: processor sharing. All that are runnable run at once, each at the same rate; here in turns so short that the
 * difference does not matter.
 *
 * What queueing formulas and papers measure against, and no scheduler: papers/ps.md.
 */
#include "../policy.h"
#include "../lib/ring.h"

#define POLICY_BASELINE
#define POLICY_SIMULATOR_ONLY "its turns are shorter than a kernel's tick, which ends turns; rr is what a kernel can do of it"

#define POLICY_PARAMS(P) P(turn, TIME, "ns", 50000, 1000, 10 * MS, "how long a task runs before the next does")

#define POLICY_ABOUT(A) \
	A(TITLE, "processor sharing: all at the same rate; a reference") \
	A(PAPER, "Kleinrock: Time-shared Systems: A Theoretical Treatment, Journal of the ACM 14(2), 1967") \
	A(GUARANTEE, "of n tasks on P CPUs each runs at min(1, P/n) of a CPU, to within n/P turns") \
	A(COST, "O(1)") \
	A(DEVIATION, "D1: turns of turn, not infinitely short ones; where switches cost time, so do these")

struct ps {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	struct links waiting;
	u32 first; /* in line */
};

static inline void ps_init(struct ps *s)
{
}

/* It has its part from now on: to the end of the line (ps R2). */
static inline void ps_join(struct ps *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->first, id);
}

static inline void ps_leave(struct ps *s, u32 id, u64 now, enum why why)
{
	if (!is_picked(&s->facts, id))
		ring_remove(&s->waiting, &s->first, id);
}

static inline u32 ps_pick(struct ps *s, u32 cpu, u64 now)
{
	return ring_pop_front(&s->waiting, &s->first);
}

static inline void ps_charge(struct ps *s, u32 id, u64 ran, u64 now)
{
}

static inline void ps_stop(struct ps *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->first, id);
}

static inline void ps_reweigh(struct ps *s, u32 id, u64 w, u64 now)
{
}

/* Equal turns, each after all others' (ps R1) */
#define POLICY_SLICE
static inline u64 ps_slice(const struct ps *s, u32 id)
{
	return s->param.turn;
}
