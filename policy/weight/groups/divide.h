/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* groups: how a group divides its budget among its members. */
#ifndef DIVVY_GROUPS_DIVIDE_H
#define DIVVY_GROUPS_DIVIDE_H

#include "../../lib/bits.h"
#include "../../lib/wide.h"
#include "level.h"

/* A member that asks for more than c for each of its k threads, of what the members that are not full share, is full:
 * weight * left / rest > k c. That leaves more for the others, never less, so who is full once stays so (groups R2). */
static inline bool groups_fills(struct groups *s, u64 weight, u64 k)
{
	u64 most = s->c * (k < s->p ? k : s->p + 1);

	if (!wide_greater(weight, s->left, most, s->rest))
		return false;
	s->left -= most;
	s->rest -= weight;
	s->nfull++;
	s->found = true;
	return true;
}

static NOINLINE void groups_fill_threads(struct groups *s)
{
	u32 first = groups_at(s)->first, id = first;

	while (id && can_loop) {
		u64 weight = s->wanted[id & POOL_MASK];

		if (s->first_pass) {
			s->full[id & POOL_MASK] = false;
			s->heavy = s->heavy < weight ? weight : s->heavy;
		}
		if (!s->full[id & POOL_MASK])
			s->full[id & POOL_MASK] = groups_fills(s, weight, 1);
		id = ring_next(&s->threads, id);
		if (id == first)
			break;
	}
}

static NOINLINE void groups_fill_groups(struct groups *s)
{
	u32 id = groups_at(s)->child;

	while (id && can_loop) {
		struct group *g = &s->group[id & GROUP_MASK];

		if (s->first_pass) {
			g->full = false;
			s->heavy = s->heavy < groups_for_each(g) ? groups_for_each(g) : s->heavy;
		}
		if (!g->full)
			g->full = groups_fills(s, g->weight, g->k);
		id = g->next;
	}
}

/* Finds the members that are full: again, while each time there are more. */
static NOINLINE void groups_fill(struct groups *s)
{
	s->first_pass = true;
	s->heavy = 0;
	s->found = true;
	while (s->found && can_loop) {
		s->found = false;
		groups_fill_threads(s);
		groups_fill_groups(s);
		s->first_pass = false;
	}
	groups_at(s)->heavy = s->heavy;
}

/* Finds the full members of a group that is not full, with left, rest and c set. Most groups have no heavy members,
 * and then there is nothing to search for. */
static inline void groups_find_full(struct groups *s)
{
	struct group *g = groups_at(s);

	s->nfull = 0;
	if (g->nfull || wide_greater(g->heavy, s->left, s->c, s->rest))
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
	g->all_full = g->full;
	g->touched = false;
}

/* The effective weight of one of the group's own threads (groups R3): to the nearest, but not above one CPU */
static inline u64 groups_weight(const struct groups *s, const struct group *g, u32 id)
{
	bool full = g->all_full || s->full[id & POOL_MASK];
	u64 most = g->cpu >> BUDGET_SHIFT;
	u64 w = (groups_part(g, s->wanted[id & POOL_MASK]) + (1 << (BUDGET_SHIFT - 1))) >> BUDGET_SHIFT;

	if (full || w > most)
		w = most;
	return w < WEIGHT_MIN ? WEIGHT_MIN : w > WEIGHT_MAX ? WEIGHT_MAX : w;
}

#endif
