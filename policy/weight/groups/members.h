/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * groups: the tree of groups, and threads and groups that become members of one, or no longer are. A thread is a member while it is
 * runnable, or in the queue of a policy with lazy removal (MEMBER of machine/state.h); a group while it has such threads.
 */
#ifndef DIVVY_GROUPS_MEMBERS_H
#define DIVVY_GROUPS_MEMBERS_H

#include "../../base.h"
#include "../../lib/bits.h"
#include "../../lib/ring.h"

#define GROUPS_PARAMS(P)

#define MAX_GROUPS (POOL < 4096u ? POOL : 4096u)
#define GROUP_MASK (MAX_GROUPS - 1)
#define ROOT 0u
#define BUDGET_SHIFT 8 /* fractional bits of budgets */

/* Levels of groups below the root. A task of a deeper group is in the ancestor of the last level, so that what is done for a task
 * that wakes is bounded (groups R5). */
#define GROUP_LEVELS 8

/* A thread came, went, or weighs something else, or (0) a group does; and the group where */
struct group_change {
	u32 group;
	u32 id;
};

#define GROUP_CHANGES 256u /* of one event; more cannot be */

/* Members by what they ask for, for each of their threads: those of order o ask for [2^o, 2^(o+1)), in 2^-ORDER_SHIFT */
#define ORDERS 64u
#define ORDER_SHIFT 16

struct group_order {
	u32 thread; /* the first of its own threads of this order, a ring */
	u32 group;  /* of the active groups in it */
};

/* The part of a group's budget that full members leave */
struct group_rest {
	u64 left;
	u64 rest;
	u32 nfull;
};

struct group {
	u32 parent;
	u32 level; /* below the root, when it was last set */
	u32 joins; /* its ancestor of the last level, where its tasks are if it is deeper; else 0 */
	u32 first; /* its own member threads, a ring */
	u32 child; /* active groups in it, a list */
	u32 next;  /* in its parent's list, 0 at the end */
	u32 prev;
	u32 k;          /* member threads in it, at any depth; active if there are any */
	u32 threads;    /* its own */
	u32 children;   /* active groups in it */
	u32 through;    /* the one where the change is that is followed */
	u32 due;        /* own threads that are to be looked at, because it divides in another way */
	u32 due_groups; /* groups in it that are */
	u32 turn;       /* whose turn that is: one in it, or 0 for the first */
	u64 weight;     /* as a member of its parent */
	u64 sum;        /* weights of its own member threads and of the active groups in it */
	u64 orders;     /* of its members, as bits */
	u32 order;      /* its own, as a member of its parent */
	u64 budget;     /* 2^-8: what its members share */
	u64 factor;     /* a member's budget is its weight * factor >> shift, if it is not full */
	u32 shift;
	u32 nfull; /* members that are full, when it was last divided */
	u64 cpu;   /* one CPU, then */
	u64 left;  /* of its budget, then, for members that are not full, */
	u64 rest;  /* what these weigh, */
	u64 c;     /* and one CPU, as `left` is counted */
	bool full; /* it has a CPU for each of its threads, and so its members are full; changes only when it divides */
	bool touched; /* since then a member came or went, or weighs something else, at any depth */
	bool waits;   /* in the queue of those with something due */
	struct group_order of_order[ORDERS];
};

struct groups {
	PARAMS(GROUPS_PARAMS);
	struct links threads;
	struct links threads_of_order;
	struct links groups_of_order;
	struct group group[MAX_GROUPS];
	u32 of[POOL];     /* the group of each task */
	u64 wanted[POOL]; /* its weight in there */
	u64 phi[POOL];    /* its effective weight */
	u32 p;            /* P, CPUs */
	u64 cpu;          /* 2^-8: the weight that stands for one CPU */
	u64 least_cpu;    /* the least that was since nothing was due */
	u32 constrained;  /* groups with a member that is full */
	u64 greatest;     /* no group in the root weighs more */

	struct group_change change[GROUP_CHANGES]; /* that nothing followed yet */
	u32 nchanges;
	u32 waiting[MAX_GROUPS]; /* groups with something due, from `front` to `back` */
	u32 front;
	u32 back;
	u32 visits; /* of the one in front */

	/* Scratch */
	u32 at;  /* the group that is looked at */
	u32 id;  /* the thread that is, or 0 */
	u32 way; /* the group that the way to a change has come to */
	bool is_on_way;
	bool climbs;  /* the group at hand is not yet told of the change */
	bool divides; /* the group at hand does */
	u32 steps;
	u64 granted; /* the effective weight of the thread that is looked at */
	u64 changed; /* not 0: a member's part may have */
	u64 deeper;  /* not 0: groups in it are to be looked at */
	u64 factor;  /* those of the group that is looked at, from now on */
	u32 shift;
	u64 left; /* budget that is left for members that are not full */
	u64 rest; /* sum of their weights */
	u64 c;    /* one CPU, as `left` is counted */
	u32 nfull;
	u64 orders;              /* that are still to be searched for full members */
	u32 order;               /* the one that is */
	struct group_rest above; /* when it was begun */
	u64 less;                /* what left and rest become by the full members of this order */
	u64 lighter;
	u32 more; /* what nfull does */
	u32 seen; /* members of this order */
};

static inline struct group *groups_at(struct groups *s)
{
	return &s->group[s->at & GROUP_MASK];
}

/* ---- membership ---- */

static inline u32 groups_order(u64 weight, u32 k)
{
	return any_number(floor_log2((weight << ORDER_SHIFT) / (k ? k : 1)));
}

static inline void groups_note_order(struct group *g, u32 order)
{
	const struct group_order *of = &g->of_order[order % ORDERS];
	u64 bit = 1ull << order % ORDERS;

	g->orders = (g->orders & ~bit) | (of->thread | of->group ? bit : 0);
}

static NOINLINE void groups_rank_thread(struct groups *s, struct group *g, u32 id)
{
	u32 order = groups_order(s->wanted[id & POOL_MASK], 1);

	ring_push_back(&s->threads_of_order, &g->of_order[order % ORDERS].thread, id);
	groups_note_order(g, order);
}

static NOINLINE void groups_unrank_thread(struct groups *s, struct group *g, u32 id)
{
	u32 order = groups_order(s->wanted[id & POOL_MASK], 1);

	ring_remove(&s->threads_of_order, &g->of_order[order % ORDERS].thread, id);
	groups_note_order(g, order);
}

/* The group at hand, as a member of its parent */
static NOINLINE void groups_rank(struct groups *s)
{
	struct group *g = groups_at(s);
	struct group *parent = &s->group[g->parent & GROUP_MASK];

	g->order = groups_order(g->weight, g->k);
	ring_push_back(&s->groups_of_order, &parent->of_order[g->order % ORDERS].group, s->at);
	groups_note_order(parent, g->order);
}

static NOINLINE void groups_unrank(struct groups *s)
{
	struct group *g = groups_at(s);
	struct group *parent = &s->group[g->parent & GROUP_MASK];

	ring_remove(&s->groups_of_order, &parent->of_order[g->order % ORDERS].group, s->at);
	groups_note_order(parent, g->order);
}

/* It has member threads now, and is a member of its parent. */
static inline void groups_link(struct groups *s, struct group *g, u32 id)
{
	struct group *parent = &s->group[g->parent & GROUP_MASK];

	g->next = parent->child;
	g->prev = 0;
	s->group[parent->child & GROUP_MASK].prev = id;
	parent->child = id;
	parent->children++;
	parent->due_groups += !!parent->due_groups;
	parent->sum += g->weight;
	groups_rank(s);
}

static inline void groups_unlink(struct groups *s, struct group *g)
{
	struct group *parent = &s->group[g->parent & GROUP_MASK];

	if (parent->turn == s->at)
		parent->turn = g->next;
	if (g->prev)
		s->group[g->prev & GROUP_MASK].next = g->next;
	else
		parent->child = g->next;
	s->group[g->next & GROUP_MASK].prev = g->prev; /* the root's, at the end, means nothing */
	parent->children--;
	if (g->parent == ROOT && !parent->children)
		s->greatest = 0;
	parent->sum -= g->weight;
	s->constrained -= !!g->nfull;
	g->nfull = 0;
	groups_unrank(s);
}

/* Each of its threads may ask for more than before, or less. */
static inline void groups_rerank(struct groups *s, struct group *g)
{
	if (g->order == groups_order(g->weight, g->k))
		return;
	groups_unrank(s);
	groups_rank(s);
}

static inline void groups_note(struct groups *s, u32 group, u32 id)
{
	s->change[s->nchanges++ % GROUP_CHANGES] = (struct group_change){ group, id };
}

/* One step of groups_climb: the parent is at hand after it. */
static NOINLINE void groups_climb_once(struct groups *s, s64 by)
{
	struct group *g = groups_at(s);
	u32 before = g->k;

	g->k += by;
	g->touched = true;
	s->climbs = s->at != ROOT;
	if (s->at == ROOT)
		return;
	if (!before && g->k)
		groups_link(s, g, s->at);
	else if (before && !g->k)
		groups_unlink(s, g);
	else if (g->k)
		groups_rerank(s, g);
	if (g->parent == ROOT && s->greatest < g->weight)
		s->greatest = g->weight;
	s->at = g->parent;
}

/* Up from a group whose threads became `by` more; 0 to say that something in there changed */
static NOINLINE void groups_climb(struct groups *s, s64 by)
{
	s->climbs = true;
	while (s->climbs && can_loop)
		groups_climb_once(s, by);
}

static inline void groups_add(struct groups *s, u32 id, u64 weight)
{
	struct group *g;

	s->at = s->of[id & POOL_MASK];
	g = groups_at(s);
	s->wanted[id & POOL_MASK] = weight;
	s->phi[id & POOL_MASK] = 0;
	ring_push_back(&s->threads, &g->first, id);
	g->threads++;
	g->sum += weight;
	groups_rank_thread(s, g, id);
	groups_note(s, s->at, id);
	groups_climb(s, 1);
}

static inline void groups_drop(struct groups *s, u32 id)
{
	struct group *g;

	s->at = s->of[id & POOL_MASK];
	g = groups_at(s);
	ring_remove(&s->threads, &g->first, id);
	groups_unrank_thread(s, g, id);
	g->threads--;
	g->sum -= s->wanted[id & POOL_MASK];
	groups_note(s, s->at, 0);
	groups_climb(s, -1);
}

/* Another weight of a member thread */
static inline void groups_want(struct groups *s, u32 id, u64 weight)
{
	struct group *g;

	if (s->wanted[id & POOL_MASK] == weight)
		return;
	s->at = s->of[id & POOL_MASK];
	g = groups_at(s);
	g->sum += weight - s->wanted[id & POOL_MASK];
	groups_unrank_thread(s, g, id);
	s->wanted[id & POOL_MASK] = weight;
	groups_rank_thread(s, g, id);
	groups_note(s, s->at, id);
	groups_climb(s, 0);
}

/* Without branches, and apart, for the verifier: what follows would be looked at once more for each. */
static NOINLINE void groups_put(struct groups *s, u32 id, u32 parent)
{
	const struct group *around = &s->group[parent & GROUP_MASK];
	struct group *g = &s->group[id & GROUP_MASK];
	u32 deeper = -(u32)(((u64)GROUP_LEVELS - 1 - around->level) >> 63);

	g->parent = parent;
	g->level = around->level + 1;
	g->joins = (around->joins | (parent & -(u32)!around->joins)) & deeper;
}

/* The group in which a task is that enters one */
static inline u32 groups_joined(const struct groups *s, u32 id)
{
	u32 joins = s->group[id & GROUP_MASK].joins;

	return joins ? joins : id;
}

/* A group comes to be, or has another weight. Its parent is another one only while it has no member threads. */
static inline void groups_set(struct groups *s, u32 id, u32 parent, u64 weight)
{
	struct group *g = &s->group[id & GROUP_MASK];

	if (!g->k)
		groups_put(s, id, parent);
	else
		s->group[g->parent & GROUP_MASK].sum += weight - g->weight;
	g->weight = weight;
	if (!g->k)
		return;
	s->at = id;
	groups_note(s, id, 0);
	groups_climb(s, 0);
}

#endif
