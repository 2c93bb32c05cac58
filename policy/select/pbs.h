/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pbs: priority-based blind scheduling. The largest T / S^alpha runs: sojourn time over attained service.
 *
 * Feng, Misra, Rubenstein: "PBS: A Unified Priority-Based CPU Scheduler" (2006), sections 2, 4.1 and 5.1:
 * papers/pbs.md. alpha goes from first come first served (0) over something like processor sharing (1) to
 * least attained service (infinity).
 * Not taken: alpha < 0 (pbs D1), the approximate O(1) choice (pbs D2), offsets for unequal shares (pbs D3).
 */
#include "../policy.h"
#include "../lib/bag.h"
#include "../lib/log2.h"
#include "../lib/wide.h"

#define POLICY_PARAMS(P) \
	P(alpha, RATIO, "", RATIO_ONE, 0, RATIO_INF, \
	  "weight of attained service: 0 is first come first served, inf least attained service; above 32768 as 32768") \
	P(beta, RATIO, "", 0, -RATIO_INF, RATIO_INF, \
	  "a sleep of this many mean sleeps begins a session: 0 each does, inf none; > 0 counts sleep in T, < 0 does not") \
	P(gamma, RATIO, "", 0, 0, 64 * RATIO_ONE, \
	  "bonus of the task that runs, in doublings of T, against switching too often")

#define POLICY_ABOUT(A) \
	A(TITLE, "priority-based blind scheduling: the largest T / S^alpha runs") \
	A(PAPER, "Feng, Misra, Rubenstein: PBS: A Unified Priority-Based CPU Scheduler, Columbia University, 2006") \
	A(GUARANTEE, "on one CPU with beta=0 and gamma=0 a task never has more than a quantum more service than one that " \
		     "became runnable before it") \
	A(GUARANTEE, "alpha=0 is first come first served and alpha=inf least attained service, decision for decision") \
	A(COST, "O(n) per pick, O(1) else") \
	A(DEVIATION, "D1: alpha is at least 0") \
	A(DEVIATION, "D2: the exact maximum by a scan, not Algorithm 1") \
	A(DEVIATION, "D3: weights are ignored: no priority offsets (Eq. 6)") \
	A(DEVIATION, "D4: a task's first sleep begins a session unless beta is infinite: there is no mean yet") \
	A(DEVIATION, "D5: a yield ends the turn and changes no priority")

#define PBS_ALPHA_MAX (RATIO_ONE << 15)
#define PBS_BITS (LOG2_BITS + 16)      /* fractional bits of a priority: a logarithm's and a RATIO's */
#define PBS_NEWCOMER (1ll << 62)       /* infinite priority, above every other */

struct pbs_task {
	u64 tau;   /* arrival time of the session, ns; moved on by the sleep that is not counted */
	u64 S;     /* service attained in the session, ns */
	u64 log_S; /* its logarithm, 2^-LOG2_BITS, if it is not 0 */
	u64 order; /* sessions of all tasks that began before this one */
	u64 t_I;   /* when it was last deactivated, ns */
	u64 n;     /* inactive periods until now */
	u64 slept; /* their sum, ns */
};

struct pbs {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	struct bag waiting;
	u32 current[MAX_CPUS]; /* the task that each CPU was given last */
	u64 sessions;          /* begun so far */
	u32 at, best;          /* of the scan */
	s64 best_p;
	struct pbs_task task[POOL];
};

static inline struct pbs_task *pbs_task(struct pbs *s, u32 id)
{
	return &s->task[id & POOL_MASK];
}

/* ---- sessions ---- */

/* t_A >= t_I + beta / n * (sum of the inactive periods before): a session begins (pbs R5) */
static inline bool pbs_begins_session(const struct pbs_task *t, s64 beta, u64 t_A)
{
	u64 size = beta < 0 ? -beta : beta;

	if (size == RATIO_INF)
		return false;
	return !wide_greater(size, t->slept, t_A - t->t_I, t->n << 16);
}

static inline void pbs_begin_session(struct pbs *s, struct pbs_task *t, u64 now)
{
	t->tau = now;
	t->S = 0;
	t->order = s->sessions++;
}

/* The end of an inactive period. Within a session +beta counts it in T, -beta does not (pbs R6); with beta = 0
 * there is none within a session, so +0 and -0 are the same. */
static inline void pbs_activate(struct pbs *s, struct pbs_task *t, u64 now)
{
	u64 period = now - t->t_I;

	if (pbs_begins_session(t, s->param.beta, now))
		pbs_begin_session(s, t, now);
	else if (s->param.beta < 0)
		t->tau += period;
	t->n++;
	t->slept += period;
}

/* ---- priority ---- */

/*
 * p = log T - alpha log S, with T = t - tau (pbs R1, R2; Eq. 2), and gamma for the current task (pbs R7), in
 * 2^-PBS_BITS. Both terms are exact in it: log T is below 2^6 and alpha log S at most 2^21, so |p| < 2^62.
 * S = 0 has an infinite priority unless alpha is 0, as 0^0 = 1 (pbs R3). With alpha infinite S alone counts.
 */
static inline s64 pbs_priority(const struct pbs_task *t, s64 alpha, s64 gamma, u64 now)
{
	u64 T = now > t->tau ? now - t->tau : 0;

	if (!t->S && alpha)
		return PBS_NEWCOMER;
	if (alpha == RATIO_INF)
		return -(s64)t->S;
	if (alpha > PBS_ALPHA_MAX)
		alpha = PBS_ALPHA_MAX;
	return (s64)((log2_fixed(T) << 16) + (gamma << LOG2_BITS)) - alpha * (s64)t->log_S;
}

static inline s64 pbs_priority_on(struct pbs *s, u32 id, u32 cpu, u64 now)
{
	bool current = s->current[cpu & CPU_MASK] == id;

	return pbs_priority(pbs_task(s, id), s->param.alpha, current ? s->param.gamma : 0, now);
}

/* Equal priorities go to the earliest arrival, then to the session that began first (pbs R4). */
static inline bool pbs_older(struct pbs *s, u32 a, u32 b)
{
	struct pbs_task *x = pbs_task(s, a), *y = pbs_task(s, b);

	return x->tau != y->tau ? x->tau < y->tau : x->order < y->order;
}

static inline bool pbs_precedes(struct pbs *s, u32 a, s64 p_a, u32 b, s64 p_b)
{
	return p_a != p_b ? p_a > p_b : pbs_older(s, a, b);
}

/* j(t) = arg max p_i(t) over the tasks that wait, into best (pbs R1) */
static NOINLINE void pbs_scan(struct pbs *s, u32 cpu, u64 now)
{
	while (s->at < s->waiting.n && can_loop) {
		u32 id = s->waiting.id[s->at & POOL_MASK];
		s64 p = pbs_priority_on(s, id, cpu, now);

		if (!s->best || pbs_precedes(s, id, p, s->best, s->best_p)) {
			s->best = id;
			s->best_p = p;
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

	if (why == NEW) {
		*t = (struct pbs_task){ 0 };
		pbs_begin_session(s, t, now);
	} else {
		pbs_activate(s, t, now);
	}
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
	struct pbs_task *t = pbs_task(s, id);

	t->S += ran;
	t->log_S = log2_fixed(t->S);
}

static inline void pbs_stop(struct pbs *s, u32 id, u64 now, enum why why)
{
	bag_add(&s->waiting, id);
}

static inline void pbs_reweigh(struct pbs *s, u32 id, u64 w, u64 now)
{
}

/* Decisions are made at the ends of quanta and when a task's state changes (pbs R8). */
#define POLICY_PREEMPTS
static inline bool pbs_preempts(struct pbs *s, u32 woken, u32 running, u64 now)
{
	u32 cpu = s->facts.task[running & POOL_MASK].cpu;

	return pbs_precedes(s, woken, pbs_priority_on(s, woken, cpu, now), running,
			    pbs_priority_on(s, running, cpu, now));
}
