/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pbs: a tournament with dates over the tasks that wait (a kinetic tournament tree). Each node knows who wins of the tasks
 * below it, and the first time at which that may be another one. Matches are played in one place, before a choice: those
 * whose time has come, and those of tasks that have come, gone or changed, which are marked. To play elsewhere as well would
 * make programs too large for the kernel's verifier.
 *
 * A task that waits has a seat, the one that was left last: where one task goes to a CPU and another comes from it, their paths to
 * the top are one, whose matches are played once. The leaf of seat i is node 2i. A node that is l levels above the leaves has a
 * number that ends in l ones, and its children are 2^(l-1) beside it. So the tree grows at its top, and those who wait stay.
 */
#ifndef DIVVY_PBS_TREE_H
#define DIVVY_PBS_TREE_H

#include "state.h"
#include "until.h"

#define PBS_NODE_MASK (2 * POOL - 1)
#define PBS_DUE (~0ull)

static inline struct pbs_node *pbs_node(struct pbs *s, u32 at)
{
	return &s->node[at & PBS_NODE_MASK];
}

static inline struct pbs_node *pbs_top(struct pbs *s)
{
	return pbs_node(s, (1u << s->height) - 1);
}

static inline struct pbs_node *pbs_leaf(struct pbs *s, u32 id)
{
	return pbs_node(s, 2 * (pbs_place(s, id)->seat - 1));
}

static inline bool pbs_waits(struct pbs *s, u32 id)
{
	return pbs_place(s, id)->seat;
}

static inline u64 pbs_sooner(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline bool pbs_is_due(const struct pbs_node *node, u64 now)
{
	return node->due >= ~now;
}

/* ---- walks ---- */

static inline void pbs_go_up(struct pbs *s)
{
	s->at = (s->at & ~(2 * s->bit)) | s->bit;
	s->bit *= 2;
}

/* The children of the node where the walk is */
static inline struct pbs_node *pbs_child(struct pbs *s, u32 second)
{
	u32 half = s->bit >> 1;

	return pbs_node(s, second ? s->at + half : s->at - half);
}

static inline void pbs_go_down(struct pbs *s, u32 second)
{
	u32 half = s->bit >> 1;

	s->at = second ? s->at + half : s->at - half;
	s->bit = half;
}

/* The node above is out of date, and its match if the task plays there. Where others have said so, it need not be said again. */
static NOINLINE void pbs_mark_once(struct pbs *s, u32 id)
{
	struct pbs_node *node;
	bool plays;

	pbs_go_up(s);
	node = pbs_node(s, s->at);
	plays = node->winner == id || node->loser == id;
	s->walking = plays || node->due != PBS_DUE;
	node->due = PBS_DUE;
	if (plays)
		node->own = PBS_DUE;
}

/* A task has come to its seat or left it, or its priority is another. */
static NOINLINE void pbs_mark(struct pbs *s, u32 id)
{
	s->at = 2 * (pbs_place(s, id)->seat - 1);
	s->bit = s->tasks.zero + 1;
	s->walking = true;
	while (s->walking && s->bit < 1u << s->height && can_loop)
		pbs_mark_once(s, id);
}

/* All priorities are others. */
static NOINLINE void pbs_mark_all(struct pbs *s)
{
	s->at = s->tasks.zero + 1;
	while (s->at < 2u << s->height && can_loop) {
		pbs_node(s, s->at)->due = PBS_DUE;
		pbs_node(s, s->at)->own = PBS_DUE;
		s->at += 2;
	}
}

/* All T and S begin anew (pbs R16). */
static inline void pbs_event(struct pbs *s, u64 now)
{
	s->last_event = now;
	if (!s->param.last_event)
		return;
	s->events++;
	s->moment++;
	pbs_mark_all(s);
}

/* ---- matches ---- */

/* The winner of the tasks a and b. Here and below what a step leaves is in memory, and it takes
 * the time from there: the verifier then has few states to compare. */
static NOINLINE void pbs_match(struct pbs *s)
{
	s->a_wins = pbs_precedes(&s->terms, task_of(s, s->a), &pbs_place(s, s->a)->rank, task_of(s, s->b),
				 &pbs_place(s, s->b)->rank);
}

static NOINLINE void pbs_sort(struct pbs *s)
{
	struct pbs_node *node = pbs_node(s, s->at);

	node->winner = s->a_wins ? s->a : s->b;
	node->loser = s->a_wins ? s->b : s->a;
}

/* And until when */
static inline void pbs_date(struct pbs *s)
{
	struct pbs_node *node = pbs_node(s, s->at);
	s64 lead = pbs_place(s, node->winner)->rank.p - pbs_place(s, node->loser)->rank.p;

	node->own = ~pbs_until(&s->terms, task_of(s, node->winner), task_of(s, node->loser), lead, s->now);
}

/* Whether the node's match is out of date, or between others than it was; if one of them is nobody, there is none */
static NOINLINE void pbs_look(struct pbs *s)
{
	struct pbs_node *node = pbs_node(s, s->at);

	s->a = pbs_child(s, 0)->winner;
	s->b = pbs_child(s, 1)->winner;
	s->is_open = node->own >= ~s->now || (node->winner ^ s->a) | (node->loser ^ s->b);
	if (node->own < ~s->now && node->winner == s->b && node->loser == s->a)
		s->is_open = false;
	if (s->a && s->b)
		return;
	s->is_open = false;
	node->winner = s->a | s->b;
	node->loser = 0;
	node->own = 0;
}

static NOINLINE void pbs_play(struct pbs *s)
{
	pbs_look(s);
	if (!s->is_open)
		return;
	pbs_rank_now(s, s->a, s->now);
	pbs_rank_now(s, s->b, s->now);
	pbs_match(s);
	pbs_sort(s);
	pbs_date(s);
}

/* Back up from a node whose match and children are right */
static NOINLINE void pbs_count(struct pbs *s)
{
	struct pbs_node *node = pbs_node(s, s->at);

	node->due = pbs_sooner(node->own, pbs_sooner(pbs_child(s, 0)->due, pbs_child(s, 1)->due));
	if (s->bit < 1u << s->height)
		pbs_go_up(s);
}

/* From the top: into a child that is out of date, or if there is none, plays the node's match and goes back up */
static NOINLINE void pbs_refresh_once(struct pbs *s)
{
	bool first = pbs_is_due(pbs_child(s, 0), s->now);

	if (first || pbs_is_due(pbs_child(s, 1), s->now)) {
		pbs_go_down(s, !first);
	} else {
		pbs_play(s);
		pbs_count(s);
		s->walking = pbs_is_due(pbs_top(s), s->now);
	}
}

/* Plays all matches that are out of date. */
static NOINLINE void pbs_refresh(struct pbs *s)
{
	s->bit = 1u << s->height;
	s->at = s->bit - 1;
	s->walking = pbs_is_due(pbs_top(s), s->now);
	while (s->walking && can_loop)
		pbs_refresh_once(s);
}

/* ---- seats ---- */

static inline void pbs_give_seat(struct pbs *s, u32 id)
{
	u32 seat = s->free ? s->free_seat[--s->free & POOL_MASK] : s->seats++;

	pbs_place(s, id)->seat = seat + 1;
	if (seat >> s->height)
		s->height++;
}

static inline void pbs_take_seat(struct pbs *s, u32 id)
{
	s->free_seat[s->free++ & POOL_MASK] = pbs_place(s, id)->seat - 1;
	pbs_place(s, id)->seat = 0;
}

static inline void pbs_sit(struct pbs *s, u32 id)
{
	pbs_give_seat(s, id);
	pbs_leaf(s, id)->winner = id;
	pbs_mark(s, id);
}

static inline void pbs_stand(struct pbs *s, u32 id)
{
	pbs_leaf(s, id)->winner = 0;
	pbs_mark(s, id);
	pbs_take_seat(s, id);
}

/* The priority of a task is another. */
static inline void pbs_changes(struct pbs *s, u32 id)
{
	pbs_forget_rank(s, id);
	if (pbs_waits(s, id))
		pbs_mark(s, id);
}

#endif
