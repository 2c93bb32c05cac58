/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pbs: priority-based blind scheduling. The largest T / S^alpha runs: sojourn time over attained service.
 *
 * Feng, Misra, Rubenstein: "PBS: A Unified Priority-Based CPU Scheduler" (2006): papers/pbs.md. alpha goes from
 * first come first served (0) over something like processor sharing (1) to least attained service (infinity).
 * This one looks at every task that waits; pbs_tree chooses the same faster, pbs_o1 nearly the same in O(1). The
 * equations are in lib/pbs.h.
 */
#include "../policy.h"
#include "../lib/bag.h"
#include "../lib/pbs.h"

#define POLICY_TITLE "priority-based blind scheduling: the largest T / S^alpha runs"
#define POLICY_HAS CHARGE | REWEIGH | PREEMPTS | SESSION

// clang-format off
#define POLICY_PARAMS(P) \
	PBS_PARAMS(P) PBS_COMBINED_PARAMS(P) PBS_SESSION_PARAMS(P) \
	P(last_event, SWITCH, "", 0, 0, 1, \
	  "T and S of all tasks begin anew whenever one becomes runnable, blocks or exits: processor sharing")
// clang-format on

#define POLICY_SHOWS(V) \
	V("priority, log2", "/1000", pbs_shown_priority(s, id, now)) \
	V("session's service", "ns", pbs_is_stale(s, id) ? 0 : task_of(s, id)->of.S)

struct pbs {
	POLICY_STATE;
	struct bag waiting;
	u32 current[MAX_CPUS]; /* the task that each CPU was given last */
	u64 sessions;          /* begun so far */
	u64 events;            /* times that a task became runnable, blocked or exited, with last_event */
	u64 last_event;        /* the last of them, ns */
	u64 seen[POOL];        /* the event since which a task's T and S count */
	u32 at, best;          /* of the scan */
	struct pbs_rank rank, best_rank;
	struct pbs_param q;
	struct pbs_terms terms;
	TASKS(pbs_task);
};

static inline void pbs_read_params(struct pbs *s)
{
	s->q = (struct pbs_param){ PBS_PARAMS(PBS_TAKE) PBS_COMBINED_PARAMS(PBS_TAKE) PBS_SESSION_PARAMS(PBS_TAKE) };
	pbs_set_terms(&s->terms, &s->q);
}

/* ---- tau is the last event of all (pbs R16) ---- */

static inline bool pbs_is_stale(const struct pbs *s, u32 id)
{
	return s->param.last_event && s->seen[id & POOL_MASK] != s->events;
}

static inline void pbs_event(struct pbs *s, u64 now)
{
	s->events += s->param.last_event;
	s->last_event = now;
}

static inline void pbs_catch_up(struct pbs *s, u32 id)
{
	if (!pbs_is_stale(s, id))
		return;
	s->seen[id & POOL_MASK] = s->events;
	task_of(s, id)->of = (struct pbs_session){ .tau = s->last_event };
}

/* ---- a choice ---- */

static inline void pbs_rank_on(struct pbs *s, struct pbs_rank *rank, u32 id, u32 cpu, u64 now)
{
	pbs_catch_up(s, id);
	pbs_set_rank(rank, &s->terms, task_of(s, id), s->current[cpu & CPU_MASK] == id, now);
}

/* A newcomer's infinite priority is shown as 64, which is more than any other's without an offset. */
static inline s64 pbs_shown_priority(const struct pbs *s, u32 id, u64 now)
{
	u32 cpu = cpu_of(&s->tasks, id);
	struct pbs_rank rank;

	pbs_set_rank(&rank, &s->terms, task_of(s, id), s->current[cpu & CPU_MASK] == id, now);
	return rank.p == PBS_NEWCOMER || pbs_is_stale(s, id) ? 64000 : (rank.p >> 20) * 1000 >> (PBS_BITS - 20);
}

/* j(t) = arg max p_i(t) over the tasks that wait, into best (pbs R1) */
static NOINLINE void pbs_scan(struct pbs *s, u32 cpu, u64 now)
{
	while (s->at < s->waiting.n && can_loop) {
		u32 id = s->waiting.id[s->at & POOL_MASK];

		pbs_rank_on(s, &s->rank, id, cpu, now);
		if (!s->best || pbs_precedes(&s->terms, task_of(s, id), &s->rank, task_of(s, s->best), &s->best_rank)) {
			s->best = id;
			s->best_rank = s->rank;
		}
		s->at++;
	}
}

/* ---- the contract ---- */

static inline void pbs_join(struct pbs *s, u32 id, u64 now, enum why why)
{
	struct pbs_task *t = task_of(s, id);

	pbs_read_params(s);
	pbs_event(s, now);
	if (why == NEW)
		pbs_new(t, now, &s->sessions);
	else
		pbs_woken(&s->q, t, now, &s->sessions);
	pbs_weigh(t, weight_of(&s->tasks, id));
	bag_add(&s->waiting, id);
}

static inline void pbs_leave(struct pbs *s, u32 id, u64 now, enum why why)
{
	task_of(s, id)->t_I = now;
	pbs_event(s, now);
	if (!is_picked(&s->tasks, id))
		bag_remove(&s->waiting, id);
}

static inline u32 pbs_pick(struct pbs *s, u32 cpu, u64 now)
{
	pbs_read_params(s);
	s->at = s->tasks.zero;
	s->best = 0;
	pbs_scan(s, cpu, now);
	if (s->best) {
		bag_remove(&s->waiting, s->best);
		s->current[cpu & CPU_MASK] = s->best;
	}
	return s->best;
}

static inline void pbs_charge(struct pbs *s, u32 id, u64 ran, u64 now)
{
	u64 since = now - s->last_event;

	pbs_catch_up(s, id);
	pbs_serve(&task_of(s, id)->of, s->param.last_event && since < ran ? since : ran);
	pbs_serve(&task_of(s, id)->prime, ran);
}

/* Where all begin anew, equal ones take turns (pbs R16). */
static inline void pbs_stop(struct pbs *s, u32 id, u64 now, enum why why)
{
	if (s->param.last_event)
		task_of(s, id)->order = s->sessions++;
	bag_add(&s->waiting, id);
}

static inline void pbs_session(struct pbs *s, u32 id, u64 now)
{
	pbs_notified(task_of(s, id), is_runnable(&s->tasks, id), now, &s->sessions);
}

static inline void pbs_reweigh(struct pbs *s, u32 id, u64 w, u64 now)
{
	pbs_weigh(task_of(s, id), w);
}

/* Decisions are made at the ends of quanta and when a task's state changes (pbs R8). */
static inline bool pbs_preempts(struct pbs *s, u32 woken, u32 running, u64 now)
{
	u32 cpu = cpu_of(&s->tasks, running);

	pbs_read_params(s);
	pbs_rank_on(s, &s->rank, woken, cpu, now);
	pbs_rank_on(s, &s->best_rank, running, cpu, now);
	return pbs_precedes(&s->terms, task_of(s, woken), &s->rank, task_of(s, running), &s->best_rank);
}
