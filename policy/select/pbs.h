/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pbs: priority-based blind scheduling. The largest T / S^alpha runs: sojourn time over attained service.
 *
 * Feng, Misra, Rubenstein: "PBS: A Unified Priority-Based CPU Scheduler" (2006): papers/pbs.md. alpha goes from
 * first come first served (0) over something like processor sharing (1) to least attained service (infinity).
 * While two tasks wait, T / S^alpha of each is a line in t: which is greater changes at most once, at a time known
 * beforehand. So a tournament with dates finds the greatest without looking at every task (pbs/tree.h). pbs_o1 chooses
 * nearly the same in O(1). The equations are in lib/pbs.h.
 */
#include "../policy.h"
#include "../lib/pbs.h"
#include "pbs/tree.h"

#define POLICY_TITLE "priority-based blind scheduling: the largest T / S^alpha runs"
#define POLICY_LINEAR 64
#define POLICY_HAS INIT | CHARGE | REWEIGH | PREEMPTS | SESSION

#define POLICY_SHOWS(V) \
	V("priority, log2", "/1000", pbs_shown_priority(s, id, now)) \
	V("session's service", "ns", pbs_is_stale(s, id) ? 0 : task_of(s, id)->of.S)

#define PBS_DIFFERS(name, ...) | (s->q.name ^ s->param.name)

static NOINLINE void pbs_read_params(struct pbs *s)
{
	s->q = (struct pbs_param){ PBS_PARAMS(PBS_TAKE) PBS_COMBINED_PARAMS(PBS_TAKE) PBS_SESSION_PARAMS(PBS_TAKE) };
	pbs_set_terms(&s->terms, &s->q);
	s->renews = s->param.last_event;
	s->moment++;
	pbs_mark_all(s);
}

/* Before priorities are compared: other parameters put all matches out of date. */
static NOINLINE void pbs_prepare(struct pbs *s, u64 now)
{
	s->moment += s->now != now;
	s->now = now;
	if ((s->renews ^ s->param.last_event) PBS_PARAMS(PBS_DIFFERS) PBS_COMBINED_PARAMS(PBS_DIFFERS)
		    PBS_SESSION_PARAMS(PBS_DIFFERS))
		pbs_read_params(s);
}

/* j(t) = arg max p_i(t) over the tasks that wait (pbs R1), into best. The current task has its bonus for its own CPU only: it is
 * compared with the winner (pbs R7). */
static NOINLINE void pbs_find_best(struct pbs *s, u32 cpu, u64 now)
{
	u32 current = s->current[cpu & CPU_MASK];

	s->best = pbs_top(s)->winner;
	if (!s->best || !pbs_waits(s, current))
		return;
	pbs_rank_on(s, &s->left, current, cpu, now);
	pbs_rank_on(s, &s->right, s->best, cpu, now);
	if (pbs_precedes(&s->terms, task_of(s, current), &s->left, task_of(s, s->best), &s->right))
		s->best = current;
}

static NOINLINE void pbs_take_best(struct pbs *s, u32 cpu)
{
	if (!s->best)
		return;
	pbs_stand(s, s->best);
	s->current[cpu & CPU_MASK] = s->best;
}

/* ---- the contract ---- */

static inline void pbs_init(struct pbs *s)
{
	pbs_read_params(s);
}

static inline void pbs_join(struct pbs *s, u32 id, u64 now, enum why why)
{
	struct pbs_task *t = task_of(s, id);

	pbs_event(s, now);
	pbs_prepare(s, now);
	if (why == NEW)
		pbs_new(t, now, &s->sessions);
	else
		pbs_woken(&s->q, t, now, &s->sessions);
	pbs_weigh(t, weight_of(&s->tasks, id));
	pbs_forget_rank(s, id);
	pbs_sit(s, id);
}

static inline void pbs_leave(struct pbs *s, u32 id, u64 now, enum why why)
{
	task_of(s, id)->t_I = now;
	pbs_event(s, now);
	if (!is_picked(&s->tasks, id))
		pbs_stand(s, id);
}

/* One call after the other, so that the verifier has one state after each. */
static inline u32 pbs_pick(struct pbs *s, u32 cpu, u64 now)
{
	pbs_prepare(s, now);
	pbs_refresh(s);
	pbs_find_best(s, cpu, now);
	pbs_take_best(s, cpu);
	return s->best;
}

static inline void pbs_charge(struct pbs *s, u32 id, u64 ran, u64 now)
{
	u64 since = now - s->last_event;

	pbs_catch_up(s, id);
	pbs_serve(&task_of(s, id)->of, s->param.last_event && since < ran ? since : ran);
	pbs_serve(&task_of(s, id)->prime, ran);
	pbs_forget_rank(s, id);
}

/* Where all begin anew, equal ones take turns (pbs R16). */
static inline void pbs_stop(struct pbs *s, u32 id, u64 now, enum why why)
{
	if (s->param.last_event)
		task_of(s, id)->order = s->sessions++;
	pbs_sit(s, id);
}

static inline void pbs_session(struct pbs *s, u32 id, u64 now)
{
	pbs_notified(task_of(s, id), is_runnable(&s->tasks, id), now, &s->sessions);
	pbs_changes(s, id);
}

static inline void pbs_reweigh(struct pbs *s, u32 id, u64 w, u64 now)
{
	pbs_weigh(task_of(s, id), w);
	pbs_changes(s, id);
}

/* Decisions are made at the ends of quanta and when a task's state changes (pbs R8). */
static inline bool pbs_preempts(struct pbs *s, u32 woken, u32 running, u64 now)
{
	u32 cpu = cpu_of(&s->tasks, running);

	pbs_prepare(s, now);
	pbs_rank_on(s, &s->left, woken, cpu, now);
	pbs_rank_on(s, &s->right, running, cpu, now);
	return pbs_precedes(&s->terms, task_of(s, woken), &s->left, task_of(s, running), &s->right);
}
