/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Tasks that wait with a start and a finish tag: of those that have started by the virtual time V, the one that is to
 * finish first. */
#ifndef DIVVY_ELIGIBLE_H
#define DIVVY_ELIGIBLE_H

#include "heap.h"
#include "vtime.h"

struct eligible {
	struct heap later; /* by S, those that have not */
	struct heap due;   /* by F, those that have: V never decreases */
	u64 F[POOL];
};

static inline void eligible_insert(struct eligible *e, u32 id, u64 S, u64 F, u64 V)
{
	e->F[id & POOL_MASK] = F;
	if (vtime_before(V, S))
		heap_insert(&e->later, id, S);
	else
		heap_insert(&e->due, id, F);
}

static inline void eligible_remove(struct eligible *e, u32 id)
{
	heap_remove(&e->later, id);
	heap_remove(&e->due, id);
}

static inline bool eligible_holds(const struct eligible *e, u32 id)
{
	return heap_holds(&e->later, id) || heap_holds(&e->due, id);
}

/* V has come to where it is: S <= V is eligible. */
static NOINLINE void eligible_update(struct eligible *e, u64 V)
{
	while (e->later.n && !vtime_before(V, heap_first_key(&e->later)) && can_loop) {
		u32 id = heap_pop(&e->later);

		heap_insert(&e->due, id, e->F[id & POOL_MASK]);
	}
}

/* The least F, equal ones in the order in which they became eligible; if nobody is, the least S. */
static inline u32 eligible_first(const struct eligible *e)
{
	return e->due.n ? heap_first(&e->due) : heap_first(&e->later);
}

#endif
