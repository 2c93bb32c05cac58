/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The account of weights: a policy that never picks. In a machine with modifiers it is told what tasks do, as any other is, and keeps
 * which of them have another weight since somebody asked (papers/placement.md).
 */
#include "policy.h"
#include "lib/ring.h"

#define POLICY_TITLE "the weights of tasks on several machines"
#define POLICY_HAS REWEIGH
#define POLICY_ACCOUNT 1

struct account {
	POLICY_STATE;
	struct links changed;
	u32 first; /* of these */
	bool is_changed[POOL];
};

static inline void account_join(struct account *s, u32 id, u64 now, enum why why)
{
}

static inline void account_reweigh(struct account *s, u32 id, u64 w, u64 now)
{
	if (s->is_changed[id & POOL_MASK])
		return;
	s->is_changed[id & POOL_MASK] = true;
	ring_push_back(&s->changed, &s->first, id);
}

static inline u32 account_next(struct account *s)
{
	u32 id = ring_pop_front(&s->changed, &s->first);

	s->is_changed[id & POOL_MASK] = false;
	return id;
}

static inline void account_leave(struct account *s, u32 id, u64 now, enum why why)
{
	if (!s->is_changed[id & POOL_MASK])
		return;
	s->is_changed[id & POOL_MASK] = false;
	ring_remove(&s->changed, &s->first, id);
}

static inline u32 account_pick(struct account *s, u32 cpu, u64 now)
{
	return 0;
}

static inline void account_stop(struct account *s, u32 id, u64 now, enum why why)
{
}
