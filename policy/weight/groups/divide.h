/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* groups: how a group divides its budget among its members. */
#ifndef DIVVY_GROUPS_DIVIDE_H
#define DIVVY_GROUPS_DIVIDE_H

#include "../../lib/bits.h"
#include "../../lib/wide.h"
#include "level.h"

/* A member of k threads asks for more than one CPU (c) for each, of what is left for the members that are not full, which weigh
 * `rest` (groups R2). */
static inline bool groups_exceeds(const struct groups *s, u64 weight, u64 k, u64 left, u64 rest, u64 c)
{
	return wide_greater(weight, left, c * (k < s->p ? k : s->p + 1), rest);
}

/* A member that is full leaves more for the others, never less. So who is full once stays so. */
static inline void groups_fills(struct groups *s, u64 weight, u64 k)
{
	s->seen++;
	if (!groups_exceeds(s, weight, k, s->left, s->rest, s->c))
		return;
	s->less -= s->c * k;
	s->lighter -= weight;
	s->more++;
}

/* If 2 P members ask for [x, 2x) for each thread, x is at most half of what one CPU is: none of them is full, nor who asks for less. */
static inline bool groups_saw_enough(const struct groups *s)
{
	return s->seen >= 2 * s->p;
}

static NOINLINE void groups_fill_threads(struct groups *s)
{
	u32 first = groups_at(s)->of_order[s->order % ORDERS].thread, id = first;

	while (id && !groups_saw_enough(s) && can_loop) {
		groups_fills(s, s->wanted[id & POOL_MASK], 1);
		id = ring_next(&s->threads_of_order, id);
		if (id == first)
			break;
	}
}

static NOINLINE void groups_fill_groups(struct groups *s)
{
	u32 first = groups_at(s)->of_order[s->order % ORDERS].group, id = first;

	while (id && !groups_saw_enough(s) && can_loop) {
		const struct group *g = &s->group[id & GROUP_MASK];

		groups_fills(s, g->weight, g->k);
		id = ring_next(&s->groups_of_order, id);
		if (id == first)
			break;
	}
}

/* Members of an order, of which some may be full already: what is left of what the orders above left */
static inline void groups_begin_pass(struct groups *s)
{
	s->order = any_number(floor_log2(s->orders));
	s->less = s->above.left;
	s->lighter = s->above.rest;
	s->more = s->above.nfull;
	s->seen = 0;
}

/* If nobody else is full in this order, the next one is searched; but if anybody is not full, who asks for less is not, either. */
static inline void groups_end_pass(struct groups *s)
{
	if (s->more <= s->nfull) {
		s->orders &= ~(1ull << s->order % ORDERS);
		if (s->nfull - s->above.nfull != s->seen)
			s->orders = 0;
		s->above = (struct group_rest){ s->left, s->rest, s->nfull };
	}
	s->left = s->less;
	s->rest = s->lighter;
	s->nfull = s->more;
}

/* Goes through the members that ask for most, for each of their threads: again, while each time there are more that are full. */
static NOINLINE void groups_fill(struct groups *s)
{
	s->above = (struct group_rest){ s->left, s->rest, 0 };
	while (s->orders && can_loop) {
		groups_begin_pass(s);
		groups_fill_threads(s);
		groups_fill_groups(s);
		groups_end_pass(s);
	}
}

/* Finds how many members of a group that is not full are, with left, rest and c set: left and rest become those of the others.
 * Most groups have no heavy members, and then there is nothing to search for. */
static inline void groups_find_full(struct groups *s)
{
	u64 heavy;

	s->nfull = 0;
	s->orders = groups_at(s)->orders;
	heavy = ((2ull << floor_log2(s->orders)) >> ORDER_SHIFT) + 1;
	if (wide_greater(heavy, s->left, s->c, s->rest))
		groups_fill(s);
}

/* One CPU in units of weight: all that the root's other members weigh, over the CPUs that they share; more than
 * anybody asks for where that is not to be written, or where there is one CPU and nobody to get it. */
#define CPU_MOST (1ull << 41)
static inline u64 groups_cpu(const struct groups *s)
{
	u64 q = s->left ? s->left : 1;

	if (s->p == 1 || s->rest / q >= CPU_MOST)
		return CPU_MOST << BUDGET_SHIFT;
	return (s->rest << BUDGET_SHIFT) / q;
}

/* left / rest as factor / 2^shift, to 2^-31: members' weights are below rest, so weight * factor fits in 128 bits */
static inline void groups_ratio(struct groups *s)
{
	u32 l = floor_log2(s->left), r = floor_log2(s->rest);
	u64 high = s->left << (63 - l), low = r > 31 ? s->rest >> (r - 31) : s->rest << (31 - r);
	s64 by = 32 + (s64)r - (s64)l;

	s->factor = high / (low ? low : 1);
	if (by < 1) {
		s->factor <<= (1 - by) & 63;
		by = 1;
	}
	s->shift = by;
}

/* The part of the group's budget that a member gets which is not full */
static inline u64 groups_part(const struct group *g, u64 weight)
{
	struct wide x = wide_mul(weight, g->factor);

	if (g->shift >= 64)
		return x.hi >> (g->shift & 63);
	return x.lo >> (g->shift & 63) | x.hi << ((64 - g->shift) & 63);
}

/* Works out how the group divides its budget: factor and shift, and who is full. */
static NOINLINE void groups_share(struct groups *s)
{
	struct group *g = groups_at(s);

	s->nfull = g->full;
	s->factor = s->shift = 0;
	if (g->full)
		return;
	s->left = s->at == ROOT ? s->p : g->budget;
	s->c = s->at == ROOT ? 1 : s->cpu;
	s->rest = g->sum;
	groups_find_full(s);
	if (s->at != ROOT) {
		groups_ratio(s);
		return;
	}
	s->cpu = groups_cpu(s);
	s->factor = 1ull << 31; /* its members weigh what they were given */
	s->shift = 31 - BUDGET_SHIFT;
}

/* Whether any member's part may have changed; whether one further down may. If one CPU is another weight than before, those of
 * full members are, and others may be full now; but nobody is full in a group that has no more than one CPU. A group that is
 * still due may find somebody full by an old weight of one CPU: none is less than the least since nothing was due. In memory and with
 * few branches, for the verifier, which would go on with either answer. */
static NOINLINE void groups_compare(struct groups *s)
{
	struct group *g = groups_at(s);
	u64 cpu = g->cpu ^ s->cpu;

	s->changed = (g->factor ^ s->factor) | (g->shift ^ s->shift);
	if (g->nfull | s->nfull)
		s->changed |= g->touched | cpu;
	s->deeper = s->changed;
	if (s->constrained || s->greatest << BUDGET_SHIFT > (s->cpu < s->least_cpu ? s->cpu : s->least_cpu))
		s->deeper |= cpu;
	s->constrained += !!s->nfull - !!g->nfull;
	g->factor = s->factor;
	g->shift = s->shift;
	g->nfull = s->nfull;
	g->cpu = s->cpu;
	g->left = s->left;
	g->rest = s->rest;
	g->c = s->c;
	g->touched = false;
}

/* Whether a member of the group, of k threads, was full when it was last divided */
static inline bool groups_is_full(const struct groups *s, const struct group *g, u64 weight, u64 k)
{
	return g->full || (g->nfull && groups_exceeds(s, weight, k, g->left, g->rest, g->c));
}

/* The effective weight of a thread (groups R3), into granted: to the nearest, but not above one CPU. In memory, as above. */
static NOINLINE void groups_grant(struct groups *s, u32 id)
{
	const struct group *g = &s->group[s->of[id & POOL_MASK] & GROUP_MASK];
	u64 wanted = s->wanted[id & POOL_MASK];
	u64 most = g->cpu >> BUDGET_SHIFT;
	u64 w = (groups_part(g, wanted) + (1 << (BUDGET_SHIFT - 1))) >> BUDGET_SHIFT;

	if (w > most || groups_is_full(s, g, wanted, 1))
		w = most;
	s->granted = w < WEIGHT_MIN ? WEIGHT_MIN : w > WEIGHT_MAX ? WEIGHT_MAX : w;
}

#endif
