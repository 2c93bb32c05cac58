/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* groups: weights while there is a CPU for each thread. */
#ifndef DIVVY_GROUPS_LEVEL_H
#define DIVVY_GROUPS_LEVEL_H

#include "members.h"

static NOINLINE void groups_find_greatest_thread(struct groups *s)
{
	u32 first = s->group[ROOT].first, id = first;

	s->cpu = 0;
	while (id && can_loop) {
		u64 weight = s->wanted[id & POOL_MASK] << BUDGET_SHIFT;

		s->cpu = s->cpu > weight ? s->cpu : weight;
		id = ring_next(&s->threads, id);
		if (id == first)
			break;
	}
}

static NOINLINE void groups_find_greatest_group(struct groups *s)
{
	u32 id = s->group[ROOT].child;

	while (id && can_loop) {
		const struct group *g = &s->group[id & GROUP_MASK];
		u64 weight = (g->weight << BUDGET_SHIFT) / (g->k ? g->k : 1);

		s->cpu = s->cpu > weight ? s->cpu : weight;
		id = g->next;
	}
}

/* One CPU in units of weight while there is one for each thread: the most that a member of the root asks for, for each of its
 * threads. So nobody's tag moves faster then than at the weight that it asks for (groups R3). The root has no more members then than
 * there are CPUs. */
static inline void groups_level(struct groups *s)
{
	groups_find_greatest_thread(s);
	groups_find_greatest_group(s);
}

#endif
