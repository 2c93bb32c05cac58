/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* gr3: the list of groups, and clients that come to them and go. */
#ifndef DIVVY_GR3_GROUPS_H
#define DIVVY_GR3_GROUPS_H

#include "state.h"

/* ---- the group list ---- */

/* From the heaviest group to the lightest, equal ones by ascending order (gr3 R2) */
static inline bool gr3_before(struct gr3 *s, u32 a, u32 b)
{
	u64 x = gr3_group(s, a)->phi, y = gr3_group(s, b)->phi;

	return x != y ? x > y : a < b;
}

/* The first group that comes after G, 0 if none does, into found. */
static NOINLINE void gr3_find_place(struct gr3 *s, u32 G)
{
	s->found = s->group[0].next;
	while (s->found && gr3_before(s, s->found, G) && can_loop)
		s->found = gr3_group(s, s->found)->next;
}

/* W_G = floor((W_n + 1) Phi_G / Phi_n) - 1: as the paper has it (gr3 D6) */
static inline u64 gr3_literal_work(struct gr3 *s, struct gr3_group *g, struct gr3_group *n)
{
	return wide_mul_div(&s->division, n->W1, g->phi, n->phi) & ~(GR3_QUANTUM - 1);
}

/* W' = W Phi_G / phi: what was received for a weight of phi, for a weight of Phi_G */
static inline u64 gr3_kept_work(struct gr3 *s, u64 W1, u64 phi, struct gr3_group *g)
{
	return GR3_QUANTUM + wide_mul_div(&s->division, W1 > GR3_QUANTUM ? W1 - GR3_QUANTUM : 0, g->phi, phi);
}

/*
 * The weight of G was `was`: its work over weight stays; that of a new group is its neighbour's, n the next group,
 * or the one before if G is the last (gr3 R5). Before the first quantum W = 0. Beyond 2^62 it saturates: G is then
 * far heavier than its neighbour, which is due only after as many quanta. Inlined, as calls are deep above and below.
 */
static ALWAYS_INLINE void gr3_scale_work(struct gr3 *s, struct gr3_group *g, u64 was)
{
	struct gr3_group *n = gr3_group(s, g->next ? g->next : g->prev);
	u64 W1;

	if (!s->W_T || !n->phi)
		return;
	if (s->param.literal)
		W1 = gr3_literal_work(s, g, n);
	else
		W1 = gr3_kept_work(s, was ? g->W1 : n->W1, was ? was : n->phi, g);
	g->W1 = W1 < GR3_W_MAX ? W1 : GR3_W_MAX;
}

/* Into its place, after its weight was changed from `was`. */
static NOINLINE void gr3_link(struct gr3 *s, u32 G, u64 was)
{
	struct gr3_group *g = gr3_group(s, G);

	gr3_find_place(s, G);
	g->next = s->found;
	g->prev = gr3_group(s, s->found)->prev;
	gr3_group(s, g->prev)->next = G;
	gr3_group(s, g->next)->prev = G;
	gr3_scale_work(s, g, was);
	clear_result();
}

static inline void gr3_unlink(struct gr3 *s, u32 G)
{
	struct gr3_group *g = gr3_group(s, G);

	gr3_group(s, g->prev)->next = g->next;
	gr3_group(s, g->next)->prev = g->prev;
}

/* ---- clients come and go ---- */

/* D_C += phi_C / phi_min (gr3 R4) */
static inline void gr3_begin_turn(struct gr3 *s, struct gr3_group *g)
{
	struct gr3_task *t = task_of(s, g->k);

	t->D += t->phi;
	g->over = false;
}

/*
 * Right before the current client, with no deficit: all others are served first. The founder of a group is its
 * current client, and has the credit of its first round (gr3 R5).
 */
static inline void gr3_insert(struct gr3 *s, u32 id, u64 phi)
{
	u32 G = gr3_group_of(phi);
	struct gr3_group *g = gr3_group(s, G);
	struct gr3_task *t = task_of(s, id);
	u64 was = g->phi;

	t->phi = phi;
	t->group = G;
	t->D = 0;
	if (g->k) {
		gr3_unlink(s, G);
		ring_push_back(&s->members, &g->k, id);
	} else {
		g->W1 = GR3_QUANTUM;
		ring_push_back(&s->members, &g->k, id);
		gr3_begin_turn(s, g);
	}
	g->phi += phi;
	s->phi_t += phi;
	gr3_link(s, G, was);
}

/* The turn after that of the current client is its. */
static inline void gr3_make_next(struct gr3 *s, struct gr3_group *g, u32 id)
{
	if (g->k == id)
		return;
	ring_remove(&s->members, &g->k, id);
	ring_link(&s->members, ring_next(&s->members, g->k), id);
}

/* If it is the current client, the turn is the next one's. */
static inline void gr3_take_out(struct gr3 *s, u32 id)
{
	struct gr3_task *t = task_of(s, id);
	u32 G = t->group;
	struct gr3_group *g = gr3_group(s, G);
	u32 current = is_equal(g->k, id);
	u64 was = g->phi;

	ring_remove(&s->members, &g->k, id);
	gr3_unlink(s, G);
	g->phi -= t->phi;
	s->phi_t -= t->phi;
	t->phi = 0;
	if (g->k && current)
		gr3_begin_turn(s, g);
	if (g->k)
		gr3_link(s, G, was);
	else if (s->i == G)
		s->i = 0;
	if (!s->group[0].next)
		s->W_T = 0;
}

/*
 * A weight that stays within its group's bounds keeps its place and deficit. One beyond them is a removal and an arrival; but
 * a client that asks for more than a CPU before and after goes right behind the current one: it is to keep its CPU. With a
 * frontlog it has turns to its credit already (gr3 R11).
 */
static NOINLINE void gr3_change_weight(struct gr3 *s, u32 id, u64 w)
{
	struct gr3_task *t = task_of(s, id);
	u32 G = t->group;
	u64 was = gr3_group(s, G)->phi;

	if (G != gr3_group_of(w)) {
		gr3_take_out(s, id);
		gr3_insert(s, id, w);
		if (s->tasks.capped == id && !t->F)
			gr3_make_next(s, gr3_group(s, task_of(s, id)->group), id);
		return;
	}
	gr3_unlink(s, G);
	gr3_group(s, G)->phi += w - t->phi;
	s->phi_t += w - t->phi;
	t->phi = w;
	gr3_link(s, G, was);
}

#endif
