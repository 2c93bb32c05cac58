/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pbs_o1: the paper's Algorithm 1. Looks at L + M of the tasks that wait, however many there are, and nearly always
 * finds the one that pbs would choose.
 *
 * Feng, Misra, Rubenstein: "PBS: A Unified Priority-Based CPU Scheduler" (2006), section 5.5: papers/pbs.md. L tasks
 * with the greatest predicted priorities are kept; each choice looks at M others, in turn, and may exchange them.
 * Where the algorithm's last line and the text differ, the text is followed: pbs D2.
 */
#include "../policy.h"
#include "../lib/pbs.h"
#include "../lib/ring.h"

#define POLICY_TITLE "priority-based blind scheduling, approximately, in O(1)"
#define POLICY_HAS INIT | CHARGE | REWEIGH | PREEMPTS | SESSION

#define PBS_O1_MAX 64u
#define PBS_O1_MASK (2 * PBS_O1_MAX - 1)

// clang-format off
#define POLICY_PARAMS(P) \
	PBS_PARAMS(P) PBS_COMBINED_PARAMS(P) \
	P(L, INTEGER, "tasks", 8, 2, PBS_O1_MAX, "tasks with the greatest predicted priorities, which are kept") \
	P(M, INTEGER, "tasks", 8, 2, PBS_O1_MAX, "other tasks that each choice looks at, in turn") \
	P(predicted, SWITCH, "", 0, 0, 1, \
	  "the greatest predicted priority runs, as Algorithm 1's last line has it; the text has the greatest current one") \
	PBS_SESSION_PARAMS(P)
// clang-format on

struct pbs_o1 {
	POLICY_STATE;
	u32 kept[2 * PBS_O1_MAX];             /* the set L of the paper, [0, n) */
	struct pbs_rank rank[2 * PBS_O1_MAX]; /* by what the least of them is found */
	u32 n;
	u32 others;          /* the rest of the waiting tasks, the next one to be looked at first */
	u32 at, least, left; /* of the loops */
	u32 best;
	u64 ahead;             /* for when priorities are predicted, ns */
	u32 current[MAX_CPUS]; /* the task that each CPU was given last */
	u64 sessions;          /* begun so far */
	struct pbs_param q;
	struct pbs_terms terms;
	struct pbs_rank found, best_rank;
	struct links links;  /* of others */
	u32 place[POOL];     /* of a task in kept + 1, or 0 */
	bool was_kept[POOL]; /* it was, when it was picked */
	TASKS(pbs_task);
};

static inline u32 pbs_o1_kept(struct pbs_o1 *s, u32 at)
{
	return s->kept[at & PBS_O1_MASK];
}

/* ---- the sets ---- */

static inline void pbs_o1_put(struct pbs_o1 *s, u32 at, u32 id, struct pbs_rank rank)
{
	s->kept[at & PBS_O1_MASK] = id;
	s->rank[at & PBS_O1_MASK] = rank;
	s->place[id & POOL_MASK] = at + 1;
}

/* The last one takes its place. */
static inline void pbs_o1_drop(struct pbs_o1 *s, u32 id)
{
	u32 at = s->place[id & POOL_MASK] - 1;

	s->n--;
	s->place[id & POOL_MASK] = 0;
	if (at != s->n)
		pbs_o1_put(s, at, pbs_o1_kept(s, s->n), s->rank[s->n & PBS_O1_MASK]);
}

/* The place of the least of those that are kept, into least */
static NOINLINE void pbs_o1_find_least(struct pbs_o1 *s)
{
	while (s->at < s->n && can_loop) {
		struct pbs_task *t = task_of(s, pbs_o1_kept(s, s->at));
		struct pbs_task *least = task_of(s, pbs_o1_kept(s, s->least));

		if (pbs_precedes(&s->terms, least, &s->rank[s->least & PBS_O1_MASK], t, &s->rank[s->at & PBS_O1_MASK]))
			s->least = s->at;
		s->at++;
	}
}

/* Nobody of those that are kept has been looked at for the least. */
static inline void pbs_o1_begin_least(struct pbs_o1 *s)
{
	s->at = s->tasks.zero;
	s->least = s->at;
}

/* A task with the rank `found` joins those that are kept; if they would then be more than `most`, the least goes to the others
 * (pbs R12). */
static NOINLINE void pbs_o1_keep(struct pbs_o1 *s, u32 id, u32 most)
{
	u32 least;

	if (s->n < most) {
		pbs_o1_put(s, s->n, id, s->found);
		s->n++;
		return;
	}
	pbs_o1_find_least(s);
	least = pbs_o1_kept(s, s->least);
	if (pbs_precedes(&s->terms, task_of(s, least), &s->rank[s->least & PBS_O1_MASK], task_of(s, id), &s->found)) {
		ring_push_back(&s->links, &s->others, id);
		return;
	}
	s->place[least & POOL_MASK] = 0;
	ring_push_back(&s->links, &s->others, least);
	pbs_o1_put(s, s->least, id, s->found);
	pbs_o1_begin_least(s);
}

/* ---- a choice ---- */

/* It may be the one: current priorities decide, if not asked otherwise (pbs R12). Leaves its predicted one in `found`. */
static NOINLINE void pbs_o1_consider(struct pbs_o1 *s, u32 id, u32 cpu, u64 now)
{
	struct pbs_task *t = task_of(s, id);
	bool is_current = s->current[cpu & CPU_MASK] == id;

	pbs_set_rank(&s->found, &s->terms, t, is_current, s->param.predicted ? now + s->ahead : now);
	if (!s->best || pbs_precedes(&s->terms, t, &s->found, task_of(s, s->best), &s->best_rank)) {
		s->best = id;
		s->best_rank = s->found;
	}
	pbs_set_rank(&s->found, &s->terms, t, is_current, now + s->ahead);
}

static NOINLINE void pbs_o1_consider_kept(struct pbs_o1 *s, u32 cpu, u64 now)
{
	while (s->at < s->n && can_loop) {
		pbs_o1_consider(s, pbs_o1_kept(s, s->at), cpu, now);
		s->rank[s->at & PBS_O1_MASK] = s->found;
		s->at++;
	}
}

static NOINLINE void pbs_o1_consider_others(struct pbs_o1 *s, u32 cpu, u64 now)
{
	while (s->left && s->others && can_loop) {
		u32 id = ring_pop_front(&s->links, &s->others);

		pbs_o1_consider(s, id, cpu, now);
		pbs_o1_keep(s, id, s->param.L);
		s->left--;
	}
}

/* |A| q / (2 M): half the time until a task is looked at again (pbs R12) */
static inline u64 pbs_o1_ahead(const struct pbs_o1 *s)
{
	return s->tasks.nrunnable * s->tasks.quantum / (2 * s->param.M * s->tasks.ncpus);
}

#define PBS_O1_DIFFERS(name, ...) | (s->q.name ^ s->param.name)

static NOINLINE void pbs_o1_set_params(struct pbs_o1 *s)
{
	s->q = (struct pbs_param){ PBS_PARAMS(PBS_TAKE) PBS_COMBINED_PARAMS(PBS_TAKE) PBS_SESSION_PARAMS(PBS_TAKE) };
	pbs_set_terms(&s->terms, &s->q);
}

static inline void pbs_o1_read_params(struct pbs_o1 *s)
{
	if (0 PBS_PARAMS(PBS_O1_DIFFERS) PBS_COMBINED_PARAMS(PBS_O1_DIFFERS) PBS_SESSION_PARAMS(PBS_O1_DIFFERS))
		pbs_o1_set_params(s);
}

/* Those that are kept have their current priorities from here. */
static NOINLINE void pbs_o1_rerank(struct pbs_o1 *s, u64 now)
{
	while (s->at < s->n && can_loop) {
		pbs_set_rank(&s->rank[s->at & PBS_O1_MASK], &s->terms, task_of(s, pbs_o1_kept(s, s->at)), false, now);
		s->at++;
	}
}

/* By current priorities (pbs R12) */
static inline void pbs_o1_keep_now(struct pbs_o1 *s, u32 id, u32 most, u64 now)
{
	pbs_o1_read_params(s);
	s->at = s->tasks.zero;
	pbs_o1_rerank(s, now);
	pbs_set_rank(&s->found, &s->terms, task_of(s, id), false, now);
	pbs_o1_begin_least(s);
	pbs_o1_keep(s, id, most);
}

static inline void pbs_o1_forget(struct pbs_o1 *s, u32 id)
{
	s->was_kept[id & POOL_MASK] = s->place[id & POOL_MASK];
	if (s->place[id & POOL_MASK])
		pbs_o1_drop(s, id);
	else
		ring_remove(&s->links, &s->others, id);
}

/* ---- the contract ---- */

static inline void pbs_o1_init(struct pbs_o1 *s)
{
	pbs_o1_set_params(s);
}

static inline void pbs_o1_join(struct pbs_o1 *s, u32 id, u64 now, enum why why)
{
	struct pbs_task *t = task_of(s, id);

	pbs_o1_read_params(s);
	if (why == NEW)
		pbs_new(t, now, &s->sessions);
	else
		pbs_woken(&s->q, t, now, &s->sessions);
	pbs_weigh(t, weight_of(&s->tasks, id));
	pbs_o1_keep_now(s, id, s->param.L - 1, now); /* |L| >= L: the least goes, as printed (pbs R12) */
}

static inline void pbs_o1_leave(struct pbs_o1 *s, u32 id, u64 now, enum why why)
{
	task_of(s, id)->t_I = now;
	if (!is_picked(&s->tasks, id))
		pbs_o1_forget(s, id);
}

static inline u32 pbs_o1_pick(struct pbs_o1 *s, u32 cpu, u64 now)
{
	pbs_o1_read_params(s);
	keep_no_addresses(s); /* those of the parameters would be on the stack during all that follows */
	s->ahead = pbs_o1_ahead(s);
	s->best = 0;
	s->left = s->param.M + (s->n < s->param.L ? s->param.L - s->n : 0);
	s->at = s->tasks.zero;
	pbs_o1_consider_kept(s, cpu, now);
	pbs_o1_begin_least(s);
	pbs_o1_consider_others(s, cpu, now);
	if (s->best) {
		pbs_o1_forget(s, s->best);
		s->current[cpu & CPU_MASK] = s->best;
	}
	return s->best;
}

static inline void pbs_o1_charge(struct pbs_o1 *s, u32 id, u64 ran, u64 now)
{
	pbs_serve(&task_of(s, id)->of, ran);
	pbs_serve(&task_of(s, id)->prime, ran);
}

/* It is where it was when it was picked. */
static inline void pbs_o1_stop(struct pbs_o1 *s, u32 id, u64 now, enum why why)
{
	if (s->was_kept[id & POOL_MASK])
		pbs_o1_keep_now(s, id, s->param.L, now);
	else
		ring_push_back(&s->links, &s->others, id);
}

static inline void pbs_o1_session(struct pbs_o1 *s, u32 id, u64 now)
{
	pbs_notified(task_of(s, id), is_runnable(&s->tasks, id), now, &s->sessions);
}

static inline void pbs_o1_reweigh(struct pbs_o1 *s, u32 id, u64 w, u64 now)
{
	pbs_weigh(task_of(s, id), w);
}

/* Decisions are made at the ends of quanta and when a task's state changes (pbs R8). */
static inline bool pbs_o1_preempts(struct pbs_o1 *s, u32 woken, u32 running, u64 now)
{
	u32 cpu = cpu_of(&s->tasks, running) & CPU_MASK;
	struct pbs_task *t = task_of(s, woken), *u = task_of(s, running);

	pbs_o1_read_params(s);
	pbs_set_rank(&s->found, &s->terms, t, s->current[cpu] == woken, now);
	pbs_set_rank(&s->best_rank, &s->terms, u, s->current[cpu] == running, now);
	return pbs_precedes(&s->terms, t, &s->found, u, &s->best_rank);
}
