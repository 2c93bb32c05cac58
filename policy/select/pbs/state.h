/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* pbs: what it keeps, and the priorities of now. */
#ifndef DIVVY_PBS_STATE_H
#define DIVVY_PBS_STATE_H

#include "../../lib/pbs.h"

// clang-format off
#define POLICY_PARAMS(P) \
	PBS_PARAMS(P) PBS_COMBINED_PARAMS(P) PBS_SESSION_PARAMS(P) \
	P(last_event, SWITCH, "", 0, 0, 1, \
	  "T and S of all tasks begin anew whenever one becomes runnable, blocks or exits: processor sharing")
// clang-format on

/* A match of the winners of its two children; of a leaf the task that waits there. Zeroed memory is a node below which nobody
 * waits: times are kept as their complements, so that never is 0 and the sooner is the greater. */
struct pbs_node {
	u64 due;    /* complement of the time from which on the winner may be another, */
	u64 own;    /* and of the time from which on that may be because of this match */
	u32 winner; /* 0: nobody waits below */
	u32 loser;
};

struct pbs_place {
	struct pbs_rank rank; /* without a bonus, at one moment */
	u64 moment;           /* that one; 0 is none */
	u32 seat;             /* of a task that waits: its leaf, counted from 1; else 0 */
};

struct pbs {
	POLICY_STATE;
	u32 seats;   /* given out so far */
	u32 free;    /* of these: how many are in free_seat */
	u32 height;  /* of the tree: it has 2^height leaves */
	u32 at;      /* of the walks: a node, */
	u32 bit;     /* and 2^l, l how far it is above the leaves */
	u32 walking; /* the walk goes on */
	u32 a, b;    /* the tasks of a match */
	u32 a_wins, is_open;
	u32 best; /* of all */
	u64 now;
	u64 moment;            /* counts: the priorities of another moment are out of date */
	u32 current[MAX_CPUS]; /* the task that each CPU was given last */
	u64 sessions;          /* begun so far */
	u64 events;            /* times that a task became runnable, blocked or exited, with last_event */
	u64 last_event;        /* the last of them, ns */
	s64 renews;            /* the parameter last_event, when matches were played by it */
	u64 seen[POOL];        /* the event since which a task's T and S count */
	struct pbs_param q;
	struct pbs_terms terms;
	struct pbs_rank left, right; /* of a comparison */
	u32 free_seat[POOL];
	struct pbs_place place[POOL];
	struct pbs_node node[2 * POOL];
	TASKS(pbs_task);
};

static inline struct pbs_place *pbs_place(struct pbs *s, u32 id)
{
	return &s->place[id & POOL_MASK];
}

/* ---- tau is the last event of all (pbs R16) ---- */

static inline bool pbs_is_stale(const struct pbs *s, u32 id)
{
	return s->param.last_event && s->seen[id & POOL_MASK] != s->events;
}

static inline void pbs_catch_up(struct pbs *s, u32 id)
{
	if (!pbs_is_stale(s, id))
		return;
	s->seen[id & POOL_MASK] = s->events;
	task_of(s, id)->of = (struct pbs_session){ .tau = s->last_event };
}

/* ---- priorities ---- */

/* A task's priority without a bonus, into its place */
static NOINLINE void pbs_rank_now(struct pbs *s, u32 id, u64 now)
{
	struct pbs_place *p = pbs_place(s, id);

	if (p->moment == s->moment)
		return;
	pbs_catch_up(s, id);
	pbs_set_rank(&p->rank, &s->terms, task_of(s, id), false, now);
	p->moment = s->moment;
}

/* Its priority changes. */
static inline void pbs_forget_rank(struct pbs *s, u32 id)
{
	pbs_place(s, id)->moment = 0;
}

/* Its priority for a CPU, with the bonus of the current task (pbs R7) */
static NOINLINE void pbs_rank_on(struct pbs *s, struct pbs_rank *rank, u32 id, u32 cpu, u64 now)
{
	pbs_rank_now(s, id, now);
	*rank = pbs_place(s, id)->rank;
	if (s->current[cpu & CPU_MASK] == id)
		pbs_set_rank(rank, &s->terms, task_of(s, id), true, now);
}

/* A newcomer's infinite priority is shown as 64, which is more than any other's without an offset. */
static inline s64 pbs_shown_priority(const struct pbs *s, u32 id, u64 now)
{
	u32 cpu = cpu_of(&s->tasks, id);
	struct pbs_rank rank;

	pbs_set_rank(&rank, &s->terms, task_of(s, id), s->current[cpu & CPU_MASK] == id, now);
	return rank.p == PBS_NEWCOMER || pbs_is_stale(s, id) ? 64000 : (rank.p >> 20) * 1000 >> (PBS_BITS - 20);
}

#endif
