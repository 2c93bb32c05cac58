/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sfq on several shards (papers/placement.md, R2 and R4): a start tag is a number that two machines can compare, and that a task takes along. So shards
 * are compared by tags, and not by their normalised service. A selection for which that holds has such a file; a host that has
 * several machines includes it, and asks, beside its virtual time:
 *
 *   NAME_nwaiting(s)         tasks that wait, with those that the host took back
 *   NAME_waiting(s, at)      one of them, with its tag, as in a heap: place 0 has the least, and none has a greater one than
 *                            places 2 at + 1 and 2 at + 2
 */
#ifndef DIVVY_PLACEMENT_SFQ_H
#define DIVVY_PLACEMENT_SFQ_H

struct tagged {
	u64 tag;
	u32 id;
};

static inline u32 sfq_nwaiting(const struct sfq *s)
{
	return s->waiting.n;
}

static inline struct tagged sfq_waiting(const struct sfq *s, u32 at)
{
	const struct heap_slot *slot = &s->waiting.slot[at & POOL_MASK];

	return (struct tagged){ .tag = slot->key, .id = slot->id };
}

#endif
