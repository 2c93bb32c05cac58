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

#define POLICY_PARAMS(P) PBS_PARAMS(P) PBS_COMBINED_PARAMS(P)

#define POLICY_SHOWS(V) \
	V("priority, log2", "/1000", pbs_shown_priority(s, id, now)) \
	V("session's service", "ns", pbs_task(s, id)->of.S)

#define POLICY_ABOUT(A) \
	A(TITLE, "priority-based blind scheduling: the largest T / S^alpha runs") \
	A(PAPER, "Feng, Misra, Rubenstein: PBS: A Unified Priority-Based CPU Scheduler, Columbia University, 2006") \
	A(GUARANTEE, "on one CPU with alpha >= 0, beta=0, no bonus and equal weights a task never has more than a quantum " \
		     "more service than one that became runnable before it") \
	A(GUARANTEE, "alpha=0 is first come first served, -0 last come first served, inf and -inf least attained service, " \
		     "decision for decision") \
	A(GUARANTEE, "for a finite alpha other than 0, tasks that stay come to shares in proportion to their weights") \
	A(COST, "O(n) per pick, O(1) else") \
	A(DEVIATION, "D1: a finite alpha beyond 32768 is as 32768") \
	A(DEVIATION, "D3: weights are offsets of |alpha| log kappa; with alpha infinite the least S / kappa runs, with 0 and " \
		     "-0 weights do nothing") \
	A(DEVIATION, "D4: a task's first sleep begins a session unless beta is infinite: there is no mean yet") \
	A(DEVIATION, "D5: a yield ends the turn and changes no priority")

struct pbs {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	struct bag waiting;
	u32 current[MAX_CPUS]; /* the task that each CPU was given last */
	u64 sessions;          /* begun so far */
	u32 at, best;          /* of the scan */
	struct pbs_rank rank, best_rank;
	struct pbs_param q;
	struct pbs_terms terms;
	struct pbs_task task[POOL];
};

static inline struct pbs_task *pbs_task(struct pbs *s, u32 id)
{
	return &s->task[id & POOL_MASK];
}

static inline void pbs_read_params(struct pbs *s)
{
	s->q = (struct pbs_param){ POLICY_PARAMS(PBS_TAKE) };
	pbs_set_terms(&s->terms, &s->q);
}

static inline void pbs_rank_on(struct pbs *s, struct pbs_rank *rank, u32 id, u32 cpu, u64 now)
{
	pbs_set_rank(rank, &s->terms, pbs_task(s, id), s->current[cpu & CPU_MASK] == id, now);
}

/* A newcomer's infinite priority is shown as 64, which is more than any other's without an offset. */
static inline s64 pbs_shown_priority(const struct pbs *s, u32 id, u64 now)
{
	u32 cpu = s->facts.task[id & POOL_MASK].cpu;
	struct pbs_rank rank;

	pbs_set_rank(&rank, &s->terms, &s->task[id & POOL_MASK], s->current[cpu & CPU_MASK] == id, now);
	return rank.p == PBS_NEWCOMER ? 64000 : (rank.p >> 20) * 1000 >> (PBS_BITS - 20);
}

/* j(t) = arg max p_i(t) over the tasks that wait, into best (pbs R1) */
static NOINLINE void pbs_scan(struct pbs *s, u32 cpu, u64 now)
{
	while (s->at < s->waiting.n && can_loop) {
		u32 id = s->waiting.id[s->at & POOL_MASK];

		pbs_rank_on(s, &s->rank, id, cpu, now);
		if (!s->best ||
		    pbs_precedes(&s->terms, pbs_task(s, id), &s->rank, pbs_task(s, s->best), &s->best_rank)) {
			s->best = id;
			s->best_rank = s->rank;
		}
		s->at++;
	}
}

/* ---- the contract ---- */

static inline void pbs_init(struct pbs *s)
{
}

static inline void pbs_join(struct pbs *s, u32 id, u64 now, enum why why)
{
	struct pbs_task *t = pbs_task(s, id);

	pbs_read_params(s);
	if (why == NEW)
		pbs_new(t, now, &s->sessions);
	else
		pbs_woken(&s->q, t, now, &s->sessions);
	pbs_weigh(t, weight_of(&s->facts, id));
	bag_add(&s->waiting, id);
}

static inline void pbs_leave(struct pbs *s, u32 id, u64 now, enum why why)
{
	pbs_task(s, id)->t_I = now;
	if (!is_picked(&s->facts, id))
		bag_remove(&s->waiting, id);
}

static inline u32 pbs_pick(struct pbs *s, u32 cpu, u64 now)
{
	pbs_read_params(s);
	s->at = s->facts.zero;
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
	pbs_serve(&pbs_task(s, id)->of, ran);
	pbs_serve(&pbs_task(s, id)->prime, ran);
}

static inline void pbs_stop(struct pbs *s, u32 id, u64 now, enum why why)
{
	bag_add(&s->waiting, id);
}

static inline void pbs_reweigh(struct pbs *s, u32 id, u64 w, u64 now)
{
	pbs_weigh(pbs_task(s, id), w);
}

/* Decisions are made at the ends of quanta and when a task's state changes (pbs R8). */
#define POLICY_PREEMPTS
static inline bool pbs_preempts(struct pbs *s, u32 woken, u32 running, u64 now)
{
	u32 cpu = s->facts.task[running & POOL_MASK].cpu;

	pbs_read_params(s);
	pbs_rank_on(s, &s->rank, woken, cpu, now);
	pbs_rank_on(s, &s->best_rank, running, cpu, now);
	return pbs_precedes(&s->terms, pbs_task(s, woken), &s->rank, pbs_task(s, running), &s->best_rank);
}
