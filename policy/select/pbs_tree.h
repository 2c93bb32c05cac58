/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pbs_tree: the decisions of pbs without looking at every task.
 *
 * Feng, Misra, Rubenstein: "PBS: A Unified Priority-Based CPU Scheduler" (2006): papers/pbs.md. While two tasks wait,
 * T / S^alpha of each is a line in t: which is greater changes at most once, at a time known beforehand. So a
 * tournament with a date: a tree over the waiting tasks, each node with the winner of its two children and the first
 * time at which that, or one below it, may be another (a kinetic tournament tree). A match that is out of date is played
 * again when it is asked for.
 * Not taken: the combined priority of section 5.3, whose logarithms may cross twice (pbs D6).
 */
#include "../policy.h"
#include "../lib/pbs.h"
#include "pbs_tree/until.h"

#define POLICY_TITLE "as pbs, by a tournament tree instead of a scan"
#define POLICY_HAS INIT | CHARGE | REWEIGH | PREEMPTS | SESSION

#define POLICY_PARAMS(P) PBS_PARAMS(P) PBS_SESSION_PARAMS(P)

#define PBS_TREE_MASK (2 * POOL - 1)

/* With n tasks the leaves are [n, 2n), the children of i are 2i and 2i + 1, and 1 is the root. */
struct pbs_tree_node {
	u64 until; /* from then on the winner may be another */
	u32 winner;
};

struct pbs_tree {
	POLICY_STATE;
	u32 n;                 /* tasks that wait */
	u32 at;                /* node, of the walks */
	u32 current[MAX_CPUS]; /* the task that each CPU was given last */
	u64 sessions;          /* begun so far */
	s64 alpha;             /* with which the matches were played */
	struct pbs_param q;
	struct pbs_terms terms;
	struct pbs_rank left, right; /* of a match */
	struct pbs_tree_node node[2 * POOL];
	u32 leaf[POOL]; /* of each task that waits, else 0 */
	TASKS(pbs_task);
};

static inline struct pbs_tree_node *pbs_tree_node(struct pbs_tree *s, u32 at)
{
	return &s->node[at & PBS_TREE_MASK];
}

/* ---- the tree ---- */

static inline u64 pbs_tree_sooner(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* The winner of a node's two children, and until when it wins */
static NOINLINE void pbs_tree_play(struct pbs_tree *s, u32 at, u64 now)
{
	struct pbs_tree_node *a = pbs_tree_node(s, 2 * at), *b = pbs_tree_node(s, 2 * at + 1), *won;
	struct pbs_task *t = task_of(s, a->winner), *u = task_of(s, b->winner), *lost;
	struct pbs_tree_node *node = pbs_tree_node(s, at);
	bool first;
	s64 lead;

	pbs_set_rank(&s->left, &s->terms, t, false, now);
	pbs_set_rank(&s->right, &s->terms, u, false, now);
	first = pbs_precedes(&s->terms, t, &s->left, u, &s->right);
	lead = s->left.p - s->right.p;
	won = first ? a : b;
	lost = first ? u : t;
	node->winner = won->winner;
	node->until = pbs_tree_sooner(pbs_tree_sooner(a->until, b->until),
				      pbs_tree_until(&s->terms, first ? t : u, lost, first ? lead : -lead, now));
}

/* Plays all matches above a node. */
static NOINLINE void pbs_tree_climb(struct pbs_tree *s, u64 now)
{
	while (s->at > 1 && can_loop) {
		s->at /= 2;
		pbs_tree_play(s, s->at, now);
	}
}

/* Plays all matches. */
static NOINLINE void pbs_tree_replay(struct pbs_tree *s, u64 now)
{
	while (s->at > 1 && can_loop) {
		s->at--;
		pbs_tree_play(s, s->at, now);
	}
}

/* From the root: into a child that is out of date, or if there is none, plays the match and goes back up. False when
 * the root is up to date. */
static inline bool pbs_tree_refresh_step(struct pbs_tree *s, u64 now)
{
	u32 at = s->at;

	if (pbs_tree_node(s, at)->until > now)
		return false;
	if (pbs_tree_node(s, 2 * at)->until <= now) {
		s->at = 2 * at;
	} else if (pbs_tree_node(s, 2 * at + 1)->until <= now) {
		s->at = 2 * at + 1;
	} else {
		pbs_tree_play(s, at, now);
		s->at = at > 1 ? at / 2 : 1;
	}
	return true;
}

static NOINLINE void pbs_tree_refresh(struct pbs_tree *s, u64 now)
{
	while (can_loop)
		if (!pbs_tree_refresh_step(s, now))
			return;
}

static inline void pbs_tree_seat(struct pbs_tree *s, u32 at, u32 id)
{
	*pbs_tree_node(s, at) = (struct pbs_tree_node){ .until = PBS_TREE_NEVER, .winner = id };
	s->leaf[id & POOL_MASK] = at;
}

static inline void pbs_tree_climb_from(struct pbs_tree *s, u32 id, u64 now)
{
	s->at = s->leaf[id & POOL_MASK];
	pbs_tree_climb(s, now);
}

/* The first leaf becomes a match of its task and the new one. */
static NOINLINE void pbs_tree_insert(struct pbs_tree *s, u32 id, u64 now)
{
	if (s->n) {
		pbs_tree_seat(s, 2 * s->n, pbs_tree_node(s, s->n)->winner);
		pbs_tree_seat(s, 2 * s->n + 1, id);
	} else {
		pbs_tree_seat(s, 1, id);
	}
	s->n++;
	pbs_tree_climb_from(s, id, now);
}

/* The last match becomes a leaf again, with its first task; the other one takes the place of the one that goes. */
static NOINLINE void pbs_tree_remove(struct pbs_tree *s, u32 id, u64 now)
{
	u32 y = pbs_tree_node(s, 2 * s->n - 2)->winner, z = pbs_tree_node(s, 2 * s->n - 1)->winner;

	s->n--;
	if (s->n) {
		pbs_tree_seat(s, s->n, y);
		if (id != z)
			pbs_tree_seat(s, s->leaf[id & POOL_MASK], z);
		s->at = s->n;
		pbs_tree_climb(s, now);
		if (id != z)
			pbs_tree_climb_from(s, z, now);
	}
	s->leaf[id & POOL_MASK] = 0;
}

static inline void pbs_tree_read_params(struct pbs_tree *s)
{
	s->q = (struct pbs_param){ POLICY_PARAMS(PBS_TAKE) };
}

/* Before a choice: with another alpha all matches are played again. */
static inline void pbs_tree_prepare(struct pbs_tree *s, u64 now)
{
	pbs_tree_read_params(s);
	pbs_set_terms(&s->terms, &s->q);
	if (s->alpha == s->q.alpha)
		return;
	s->alpha = s->q.alpha;
	s->at = s->n;
	pbs_tree_replay(s, now);
}

/* The current task has its bonus for its own CPU only: it is compared with the winner (pbs R7). */
static inline u32 pbs_tree_best(struct pbs_tree *s, u32 cpu, u64 now)
{
	u32 best = pbs_tree_node(s, 1)->winner, current = s->current[cpu & CPU_MASK];

	if (!s->leaf[current & POOL_MASK])
		return best;
	pbs_set_rank(&s->left, &s->terms, task_of(s, current), true, now);
	pbs_set_rank(&s->right, &s->terms, task_of(s, best), false, now);
	if (pbs_precedes(&s->terms, task_of(s, current), &s->left, task_of(s, best), &s->right))
		return current;
	return best;
}

/* ---- the contract ---- */

static inline void pbs_tree_init(struct pbs_tree *s)
{
	pbs_tree_prepare(s, 0);
}

static inline void pbs_tree_join(struct pbs_tree *s, u32 id, u64 now, enum why why)
{
	struct pbs_task *t = task_of(s, id);

	pbs_tree_read_params(s);
	if (why == NEW)
		pbs_new(t, now, &s->sessions);
	else
		pbs_woken(&s->q, t, now, &s->sessions);
	pbs_weigh(t, weight_of(&s->tasks, id));
	pbs_tree_insert(s, id, now);
}

static inline void pbs_tree_leave(struct pbs_tree *s, u32 id, u64 now, enum why why)
{
	task_of(s, id)->t_I = now;
	if (!is_picked(&s->tasks, id))
		pbs_tree_remove(s, id, now);
}

static inline u32 pbs_tree_pick(struct pbs_tree *s, u32 cpu, u64 now)
{
	u32 best;

	if (!s->n)
		return 0;
	pbs_tree_prepare(s, now);
	s->at = s->tasks.zero + 1;
	pbs_tree_refresh(s, now);
	best = pbs_tree_best(s, cpu, now);
	pbs_tree_remove(s, best, now);
	s->current[cpu & CPU_MASK] = best;
	return best;
}

static inline void pbs_tree_charge(struct pbs_tree *s, u32 id, u64 ran, u64 now)
{
	pbs_serve(&task_of(s, id)->of, ran);
}

static inline void pbs_tree_stop(struct pbs_tree *s, u32 id, u64 now, enum why why)
{
	pbs_tree_insert(s, id, now);
}

static inline void pbs_tree_session(struct pbs_tree *s, u32 id, u64 now)
{
	pbs_notified(task_of(s, id), is_runnable(&s->tasks, id), now, &s->sessions);
	if (s->leaf[id & POOL_MASK])
		pbs_tree_climb_from(s, id, now);
}

static inline void pbs_tree_reweigh(struct pbs_tree *s, u32 id, u64 w, u64 now)
{
	pbs_weigh(task_of(s, id), w);
	if (s->leaf[id & POOL_MASK])
		pbs_tree_climb_from(s, id, now);
}

/* Decisions are made at the ends of quanta and when a task's state changes (pbs R8). */
static inline bool pbs_tree_preempts(struct pbs_tree *s, u32 woken, u32 running, u64 now)
{
	u32 cpu = cpu_of(&s->tasks, running) & CPU_MASK;
	struct pbs_task *t = task_of(s, woken), *u = task_of(s, running);

	pbs_tree_prepare(s, now);
	pbs_set_rank(&s->left, &s->terms, t, s->current[cpu] == woken, now);
	pbs_set_rank(&s->right, &s->terms, u, s->current[cpu] == running, now);
	return pbs_precedes(&s->terms, t, &s->left, u, &s->right);
}
