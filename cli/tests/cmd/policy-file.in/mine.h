/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The task that came last runs; a wide turn is a number of quanta. */
#include "../policy.h"
#include "../lib/ring.h"

#define POLICY_TITLE "the newest first"
#define POLICY_HAS SLICE
#define POLICY_PARAMS(P) P(wide, INTEGER, "quanta", 1, 1, 9, "how long a turn is")

struct mine {
	POLICY_STATE;
	struct links waiting;
	u32 first;
};

static inline void mine_join(struct mine *s, u32 id, u64 now, enum why why)
{
	ring_push_front(&s->waiting, &s->first, id);
}

static inline void mine_leave(struct mine *s, u32 id, u64 now, enum why why)
{
	if (!is_picked(&s->tasks, id))
		ring_remove(&s->waiting, &s->first, id);
}

static inline u32 mine_pick(struct mine *s, u32 cpu, u64 now)
{
	return ring_pop_front(&s->waiting, &s->first);
}

static inline void mine_stop(struct mine *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->first, id);
}

static inline u64 mine_slice(const struct mine *s, u32 id)
{
	return s->param.wide * s->tasks.quantum;
}
