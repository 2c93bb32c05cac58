/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine: tasks that wait and whose set of CPUs is no class (parking.h). There may be as many sets as tasks, so they are in one tree
 * by key, equal keys in order of insertion, and each node knows on which CPUs a task below it or its own may run. So the first task
 * that a CPU may run is found in O(log n), whatever sets there are.
 *
 * A treap, as lib/tree.h, whose nodes know keys below them and no CPUs, and are four times as large. Here the nodes are those of the
 * piles, because a task is in at most one of both.
 */
#ifndef DIVVY_MACHINE_OTHERS_H
#define DIVVY_MACHINE_OTHERS_H

#include "idle.h"
#include "../lib/tree.h"

static inline struct pile_node *others_node(struct machine *m, u32 id)
{
	return pile_node(&m->parked.piles, id);
}

/* [0] is no task: its child[0] is the root. */
static inline u32 others_root(struct machine *m)
{
	return others_node(m, 0)->child[0];
}

/* CPUs of the tasks from this node down; none for no task */
static inline u64 *others_cpus(struct machine *m, u32 id)
{
	return &m->allowed[(POOL + (id & POOL_MASK)) * machine_words(m)];
}

static inline void others_count(struct machine *m, u32 id)
{
	const struct pile_node *n = others_node(m, id);
	const u64 *own = machine_allowed(m, id);
	const u64 *before = others_cpus(m, n->child[0]), *after = others_cpus(m, n->child[1]);
	u64 *all = others_cpus(m, id);

	for (u32 i = 0; i < machine_words(m); i++)
		all[i] = own[i] | before[i] | after[i];
}

/* A node, or none, takes the place of another. */
static inline void others_replace(struct machine *m, u32 old, u32 id)
{
	u32 up = others_node(m, old)->up;
	struct pile_node *p = others_node(m, up);

	p->child[is_equal(p->child[1], old)] = id;
	others_node(m, id)->up = up;
}

/* Rotates: a node takes its parent's place, and has it for a child. The parent is to be counted anew if it stays. */
static inline void others_raise(struct machine *m, u32 id)
{
	struct pile_node *x = others_node(m, id);
	u32 up = x->up;
	struct pile_node *p = others_node(m, up);
	u32 after = is_equal(p->child[1], id);
	u32 inner = x->child[after ^ 1];
	u64 *to = others_cpus(m, id);
	const u64 *from = others_cpus(m, up);

	others_replace(m, up, id);
	p->child[after] = inner;
	others_node(m, inner)->up = up;
	x->child[after ^ 1] = up;
	p->up = id;
	for (u32 i = 0; i < machine_words(m); i++)
		to[i] = from[i];
}

/* One step of others_hang, to the child that `after` says */
static NOINLINE void others_hang_lower(struct machine *m, u32 id)
{
	struct pile_node *x = others_node(m, id);
	const u64 *own = machine_allowed(m, id);
	u64 *all;

	x->up = others_node(m, x->up)->child[m->parking.after & 1];
	all = others_cpus(m, x->up);
	for (u32 i = 0; i < machine_words(m); i++)
		all[i] |= own[i];
	m->parking.after = pile_before(others_node(m, x->up), x);
}

/* Hangs a node where a search for it ends. */
static NOINLINE void others_hang(struct machine *m, u32 id)
{
	struct pile_node *x = others_node(m, id);

	m->parking.after = m->s.tasks.zero;
	while (others_node(m, x->up)->child[m->parking.after & 1] && can_loop)
		others_hang_lower(m, id);
	others_node(m, x->up)->child[m->parking.after & 1] = id;
}

static NOINLINE void others_rise_once(struct machine *m, u32 id)
{
	u32 up = others_node(m, id)->up;

	others_raise(m, id);
	others_count(m, up);
}

static NOINLINE void others_rise(struct machine *m, u32 id)
{
	const struct pile_node *x = others_node(m, id);

	while (x->up && tree_rank(x->up) < tree_rank(id) && can_loop)
		others_rise_once(m, id);
}

static NOINLINE void others_sink_once(struct machine *m, u32 id)
{
	const struct pile_node *x = others_node(m, id);
	bool after = !x->child[0] || (x->child[1] && tree_rank(x->child[0]) < tree_rank(x->child[1]));

	others_raise(m, x->child[after]);
}

/* Down to where it has no child */
static NOINLINE void others_sink(struct machine *m, u32 id)
{
	const struct pile_node *x = others_node(m, id);

	while (x->child[0] | x->child[1] && can_loop)
		others_sink_once(m, id);
}

/* The same from a node up */
static NOINLINE void others_recount(struct machine *m, u32 id)
{
	m->at = id;
	while (m->at && can_loop) {
		others_count(m, m->at);
		m->at = others_node(m, m->at)->up;
	}
}

static inline void others_insert(struct machine *m, u32 id, u64 key)
{
	*others_node(m, id) = (struct pile_node){ .key = key, .seq = m->parked.piles.seq++, .of = OTHERS };
	others_count(m, id);
	others_hang(m, id);
	others_rise(m, id);
}

static inline void others_remove(struct machine *m, u32 id)
{
	others_sink(m, id);
	others_replace(m, id, 0);
	others_recount(m, others_node(m, id)->up);
	others_node(m, id)->of = 0;
}

static inline bool others_may(struct machine *m, u32 id, u32 cpu)
{
	return others_cpus(m, id)[(cpu & CPU_MASK) / 64] >> (cpu % 64) & 1;
}

/* The first task that this CPU may run, or 0, into at */
static NOINLINE void others_find(struct machine *m, u32 cpu)
{
	m->at = others_root(m);
	while (m->at && can_loop) {
		const struct pile_node *n = others_node(m, m->at);
		bool before = others_may(m, n->child[0], cpu);

		if (!before && machine_may_run(m, m->at, cpu))
			return;
		m->at = n->child[!before];
	}
}

#endif
