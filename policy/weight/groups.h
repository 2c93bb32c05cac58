/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * groups: a hierarchy of shares. Groups have weights and are nested; a group's part of the machine is divided among the
 * threads and groups in it by their weights. A group of k runnable threads can use k CPUs, and is given no more.
 *
 * Chandra, Adler, Goyal, Shenoy: "Surplus Fair Scheduling" (OSDI 2000), section 5, names it as future work, with the
 * constraint of a group of k threads; the recursion down the tree is ours: papers/groups.md.
 *
 *   At each group: the members (its own threads, k = 1, and the groups in it) share its budget by weight; members that
 *   would get more than k CPUs get k CPUs, and the others share the rest (groups R1, R2). At the root the budget is P
 *   CPUs, or as many as there are runnable threads.
 *
 * Budgets are in units of weight, in which the root's members weigh what they were given and `cpu` is one CPU. So the
 * weights of threads in a group change only when the members of that group or of one around it do, or what a CPU is in
 * units of weight, and then only where somebody has one.
 *
 *   After a change the groups on the way from the root to its place divide anew at once, in O(depth). A group that divides in
 *   another way than before has its threads and groups looked at one after the other: an event looks at GROUP_STEPS of them, and
 *   what is left waits for the events after it (groups R6).
 */
#ifndef DIVVY_GROUPS_H
#define DIVVY_GROUPS_H

#include "groups/divide.h"

#define GROUPS_TITLE "a hierarchy of shares: groups (users, cgroups) with weights, nested"

/* A test may choose fewer. */
#ifndef GROUP_STEPS
#define GROUP_STEPS 64u
#endif
/* After so many visits to one group it is the next one's turn, so that a large group does not keep a small one waiting. */
#define GROUP_VISITS (GROUP_STEPS / 2)

static inline bool groups_has_due(const struct groups *s)
{
	return s->front != s->back;
}

static inline void groups_wait(struct groups *s, u32 id)
{
	s->waiting[s->back++ & GROUP_MASK] = id;
}

/* The root has a CPU for each thread, as long as there are as many. */
static NOINLINE void groups_begin(struct groups *s)
{
	struct group *root = &s->group[ROOT];

	root->full = root->k <= s->p;
	if (root->full)
		groups_level(s);
}

/* The budget of the group at hand, of what the one around it has. All is as it was when that one was last divided: the root may be
 * further on, and may come back to where it was, and then nobody would look here again. */
static NOINLINE void groups_receive(struct groups *s)
{
	struct group *g = groups_at(s);
	const struct group *around = &s->group[g->parent & GROUP_MASK];
	u64 most = around->cpu * (g->k < s->p ? g->k : s->p);
	u64 part = groups_part(around, g->weight);

	s->cpu = around->cpu;
	g->full = groups_is_full(s, around, g->weight, g->k);
	g->budget = g->full || part > most ? most : part;
}

/* The members of the group at hand are due, because it divides in another way. */
static NOINLINE void groups_owe(struct groups *s)
{
	struct group *g = groups_at(s);

	if (s->changed)
		g->due = g->threads;
	if (s->deeper)
		g->due_groups = g->children;
	if ((g->due | g->due_groups) && !g->waits) {
		g->waits = true;
		groups_wait(s, s->at);
	}
}

/* Groups that are due have what one CPU was when the root divided, at any time since nothing was due. */
static NOINLINE void groups_note_cpu(struct groups *s)
{
	if (s->at == ROOT && (s->cpu < s->least_cpu || s->front == s->back))
		s->least_cpu = s->cpu;
}

/* The group at hand divides its budget anew. */
static inline void groups_divide(struct groups *s)
{
	if (s->at == ROOT)
		groups_begin(s);
	else
		groups_receive(s);
	groups_share(s);
	groups_note_cpu(s);
	groups_compare(s);
	groups_owe(s);
}

/* Marks the way from the root to a group. */
static inline void groups_mark_way(struct groups *s, u32 group)
{
	s->at = group;
	while (s->at != ROOT && can_loop) {
		u32 parent = groups_at(s)->parent;

		s->group[parent & GROUP_MASK].through = s->at;
		s->at = parent;
	}
	s->way = ROOT;
	s->is_on_way = true;
}

/* One group further on the way to the last change. At its end, or at a group that has no threads any more, it is the thread's
 * turn that came or weighs something else. */
static NOINLINE void groups_follow(struct groups *s)
{
	const struct group_change *c = &s->change[(s->nchanges - 1) % GROUP_CHANGES];
	u32 next = s->group[s->way & GROUP_MASK].through;

	s->divides = true;
	if (!s->is_on_way) {
		groups_mark_way(s, c->group);
	} else if (s->way != c->group && s->group[next & GROUP_MASK].k) {
		s->way = s->at = next;
	} else {
		s->divides = s->is_on_way = false;
		s->id = c->id;
		s->nchanges--;
	}
}

/* The group in front has nothing due any more, or had its turn. */
static inline void groups_pass_turn(struct groups *s)
{
	u32 id = s->waiting[s->front++ & GROUP_MASK];
	struct group *g = &s->group[id & GROUP_MASK];

	s->visits = 0;
	g->waits = g->due | g->due_groups;
	if (g->waits)
		groups_wait(s, id);
}

/* One thread or group that is due, in the group in front. Those in it may have become fewer. */
static NOINLINE void groups_visit(struct groups *s)
{
	struct group *g = &s->group[s->waiting[s->front & GROUP_MASK] & GROUP_MASK];
	u32 group = g->turn ? g->turn : g->child;

	s->steps++;
	s->divides = false;
	g->due = g->first ? g->due : 0;
	g->due_groups = group ? g->due_groups : 0;
	if (g->due) {
		g->due--;
		s->id = g->first;
		g->first = ring_next(&s->threads, g->first);
	} else if (g->due_groups) {
		g->due_groups--;
		g->turn = s->group[group & GROUP_MASK].next;
		s->at = group;
		s->divides = true;
	}
	s->visits++;
	if (s->visits >= GROUP_VISITS || !(g->due | g->due_groups))
		groups_pass_turn(s);
}

/* Whether this event has something left to look at: a group that divides anew, or the thread `id`. */
static inline bool groups_next(struct groups *s)
{
	s->id = 0;
	if (s->nchanges)
		groups_follow(s);
	else if (groups_has_due(s) && s->steps < GROUP_STEPS)
		groups_visit(s);
	else
		return false;
	return true;
}

#endif
