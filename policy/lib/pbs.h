/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The equations of PBS, which the policies pbs and pbs_o1 share: sessions, priorities, offsets.
 *
 * Feng, Misra, Rubenstein: "PBS: A Unified Priority-Based CPU Scheduler" (2006): papers/pbs.md.
 */
#ifndef DIVVY_PBS_H
#define DIVVY_PBS_H

#include "../policy.h"
#include "log2.h"
#include "wide.h"

#define PBS_PARAMS(P) \
	P(alpha, RATIO, "", RATIO_ONE, -RATIO_INF, RATIO_INF, \
	  "weight of attained service: 0 first come first served, -0 last come first served, inf and -inf least attained " \
	  "service; beyond 32768 as 32768") \
	P(beta, RATIO, "", 0, -RATIO_INF, RATIO_INF, \
	  "a sleep of this many mean sleeps begins a session: 0 each does, inf none; > 0 counts sleep in T, < 0 does not") \
	P(gamma, RATIO, "", 0, 0, 64 * RATIO_ONE, \
	  "bonus of the task that runs, in doublings of T, against switching too often; nothing if alpha is infinite") \
	P(ratio, RATIO, "", 0, 0, 100 * RATIO_ONE, \
	  "the same bonus as turn / service: a task gives way when it has 1 + ratio times the other's; added to gamma")

#define PBS_COMBINED_PARAMS(P) \
	P(epsilon, RATIO, "", 0, 0, 64 * RATIO_ONE, \
	  "how much a second priority counts, by alpha_prime and beta_prime; nothing if alpha is infinite") \
	P(alpha_prime, RATIO, "", RATIO_ONE, 0, 64 * RATIO_ONE, "alpha of the second priority") \
	P(beta_prime, RATIO, "", RATIO_INF, -RATIO_INF, RATIO_INF, "beta of the second priority's sessions")

#define PBS_SESSION_PARAMS(P) \
	P(deviations, RATIO, "", 0, 0, 64 * RATIO_ONE, \
	  "a session begins only after a sleep that is this many standard deviations of the task's sleeps longer than beta says")

struct pbs_param {
	PBS_PARAMS(PARAM_FIELD)
	PBS_COMBINED_PARAMS(PARAM_FIELD)
	PBS_SESSION_PARAMS(PARAM_FIELD)
};

/* Copies a policy's parameters, in the initializer of a struct pbs_param. */
#define PBS_TAKE(name, kind, unit, dflt, min, max, help) .name = s->param.name,

#define PBS_MINUS_0 (-1ll) /* the negative RATIO next to 0: `-0`, the limit from below */
#define PBS_ALPHA_MAX (RATIO_ONE << 15)
#define PBS_STEP_BITS 10              /* variances are in steps of 1024 ns */
#define PBS_STEPS_MAX (~0u - 1)       /* 73 minutes; longer sleeps count as that, so that squares fit */
#define PBS_BITS (LOG2_BITS + 16)     /* fractional bits of a priority: a logarithm's and a RATIO's */
#define PBS_NEWCOMER (1ll << 62)      /* infinite priority, above every other */
#define PBS_ERROR ((5ll << 14) + 512) /* of a difference of two logarithms: 1.25 * 2^-24 + 2^-31, in 2^-PBS_BITS */

struct pbs_session {
	u64 tau;   /* arrival time of the session, ns; moved on by the sleep that is not counted */
	u64 S;     /* service attained in the session, ns */
	u64 log_S; /* its logarithm, 2^-LOG2_BITS, if it is not 0 */
};

struct pbs_task {
	struct pbs_session of;    /* by beta */
	u64 order;                /* sessions of all tasks that began before this one */
	u64 w;                    /* weight */
	s64 log_kappa;            /* log kappa, 2^-LOG2_BITS: weight over that of nice 0 */
	struct pbs_session prime; /* by beta' */
	u64 t_I;                  /* when it was last deactivated, ns */
	u64 n;                    /* inactive periods until now */
	u64 slept;                /* their sum, ns */
	u64 variance;             /* of them, in PBS_STEP squared */
	u64 root, bit;            /* of the square root of that */
	bool notified;            /* asleep, and its program said that a session begins */
};

/* ---- sessions ---- */

/* t_A >= t_I + beta / n * (sum of the inactive periods before) + more: a session begins (pbs R5, R14) */
static inline bool pbs_begins_session(const struct pbs_task *t, s64 beta, u64 more, u64 t_A)
{
	u64 size = beta < 0 ? -beta : beta, sleep = t_A - t->t_I;

	if (size == RATIO_INF || sleep < more)
		return false;
	if (beta == PBS_MINUS_0)
		size = 0;
	return !wide_greater(size, t->slept, sleep - more, t->n << 16);
}

/* The end of an inactive period. Within a session +beta counts it in T, -beta does not (pbs R6); with beta = 0
 * there is none within a session, so +0 and -0 are the same. Whether a session began. */
static inline bool pbs_activate(struct pbs_session *x, const struct pbs_task *t, s64 beta, u64 more, u64 now)
{
	if (pbs_begins_session(t, beta, more, now)) {
		*x = (struct pbs_session){ .tau = now };
		return true;
	}
	if (beta < 0)
		x->tau += now - t->t_I;
	return false;
}

/* The largest root whose square is at most the variance, from its upper bit down */
static NOINLINE void pbs_find_root(struct pbs_task *t)
{
	while (t->bit && can_loop) {
		u64 root = t->root | t->bit;

		if (root * root <= t->variance)
			t->root = root;
		t->bit >>= 1;
	}
}

/* How much longer than beta says a sleep must be, ns: so many standard deviations (pbs R14) */
static inline u64 pbs_more(const struct pbs_param *q, struct pbs_task *t)
{
	if (!q->deviations)
		return 0;
	t->root = 0;
	t->bit = 1ull << 31;
	pbs_find_root(t);
	return (u64)q->deviations * t->root >> (16 - PBS_STEP_BITS);
}

/* V' = V + ((x - m)(x - m') - V) / n', m and m' the mean before and after x: exact but for rounding (pbs R14) */
static inline void pbs_vary(struct pbs_task *t, u64 sleep, u64 mean, u64 mean_after)
{
	u64 x = sleep >> PBS_STEP_BITS, a, b, product;

	x = x < PBS_STEPS_MAX ? x : PBS_STEPS_MAX;
	mean = mean < PBS_STEPS_MAX ? mean : PBS_STEPS_MAX;
	mean_after = mean_after < PBS_STEPS_MAX ? mean_after : PBS_STEPS_MAX;
	a = x > mean ? x - mean : mean - x;
	b = x > mean_after ? x - mean_after : mean_after - x;
	product = a * b;
	if (product > t->variance)
		t->variance += (product - t->variance) / t->n;
	else
		t->variance -= (t->variance - product) / t->n;
}

static inline void pbs_begin_session(struct pbs_task *t, u64 now, u64 *sessions)
{
	t->of = (struct pbs_session){ .tau = now };
	t->order = (*sessions)++;
	t->notified = false;
}

/* The program of a task begins a session (pbs R15). For a task that sleeps, the session begins when it wakes. */
static inline void pbs_notified(struct pbs_task *t, bool is_runnable, u64 now, u64 *sessions)
{
	if (is_runnable)
		pbs_begin_session(t, now, sessions);
	else
		t->notified = true;
}

static inline void pbs_woken(const struct pbs_param *q, struct pbs_task *t, u64 now, u64 *sessions)
{
	u64 sleep = now - t->t_I, mean = t->n ? t->slept / t->n : sleep;

	if (t->notified)
		pbs_begin_session(t, now, sessions);
	else if (pbs_activate(&t->of, t, q->beta, pbs_more(q, t), now))
		t->order = (*sessions)++;
	pbs_activate(&t->prime, t, q->beta_prime, 0, now);
	t->n++;
	t->slept += sleep;
	pbs_vary(t, sleep, mean >> PBS_STEP_BITS, t->slept / t->n >> PBS_STEP_BITS);
}

static inline void pbs_new(struct pbs_task *t, u64 now, u64 *sessions)
{
	*t = (struct pbs_task){ .of.tau = now, .prime.tau = now, .order = (*sessions)++ };
}

static NOINLINE void pbs_serve(struct pbs_session *x, u64 ran)
{
	x->S += ran;
	x->log_S = log2_fixed(x->S);
}

/* kappa = w / (weight of nice 0), for the offset delta = |alpha| log kappa (pbs R10; Eq. 6) */
static NOINLINE void pbs_weigh(struct pbs_task *t, u64 w)
{
	t->w = w;
	t->log_kappa = (s64)log2_fixed(w) - (20ll << LOG2_BITS);
}

/* ---- priority ---- */

/* Tasks are compared by this: the greater p, then the lesser S / k; then their age decides. */
struct pbs_rank {
	s64 p; /* 2^-PBS_BITS */
	u64 S; /* 0, except where S alone counts */
	u64 k;
};

/* The terms that a choice takes from the parameters, which may change between two choices */
struct pbs_terms {
	s64 sign;  /* sgn(alpha): for alpha < 0 the least T / S^alpha runs (pbs R9) */
	s64 size;  /* |alpha|; -0 has none (pbs R9) */
	s64 bonus; /* of the current task: gamma + |alpha| log(1 + dT/S) (pbs R7; Eq. 5) */
	s64 epsilon;
	s64 alpha_prime;
	u64 is_las; /* alpha is infinite */
	u64 turn;   /* 1 + dT/S, 2^-16 */
};

static inline s64 pbs_size(s64 alpha)
{
	s64 size = alpha < 0 ? -alpha : alpha;

	if (alpha == PBS_MINUS_0)
		size = 0;
	return size > PBS_ALPHA_MAX ? PBS_ALPHA_MAX : size;
}

static NOINLINE void pbs_set_terms(struct pbs_terms *x, const struct pbs_param *q)
{
	x->sign = q->alpha < 0 ? -1 : 1;
	x->size = pbs_size(q->alpha);
	x->is_las = q->alpha == RATIO_INF || q->alpha == -RATIO_INF;
	x->turn = RATIO_ONE + q->ratio;
	x->bonus = (q->gamma << LOG2_BITS) + x->size * ((s64)log2_fixed(x->turn) - (16ll << LOG2_BITS));
	x->epsilon = x->is_las ? 0 : q->epsilon;
	x->alpha_prime = q->alpha_prime;
}

static inline u64 pbs_log_T(const struct pbs_session *x, u64 now)
{
	return log2_fixed(now - x->tau);
}

/* The part of p that does not change while a task waits: delta - |alpha| log S (pbs R1, R10; Eq. 2, 6) */
static inline s64 pbs_constant(const struct pbs_terms *x, const struct pbs_task *t)
{
	return -x->size * ((s64)t->of.log_S - t->log_kappa);
}

/* epsilon [log T' - alpha' log S'], the bracket rounded down to 2^-LOG2_BITS (pbs R11; section 5.3) */
static inline s64 pbs_combined(const struct pbs_terms *x, const struct pbs_task *t, u64 now)
{
	s64 bracket = (s64)(pbs_log_T(&t->prime, now) << 16) - x->alpha_prime * (s64)t->prime.log_S;

	return x->epsilon * (bracket >> 16);
}

/* S = 0 has an infinite priority unless alpha is 0, as 0^0 = 1 (pbs R3); S' = 0 as well (pbs R11). */
static inline bool pbs_is_newcomer(const struct pbs_terms *x, const struct pbs_task *t)
{
	return (!t->of.S && x->size) || (!t->prime.S && x->epsilon && x->alpha_prime);
}

/*
 * p = sgn(alpha) log T - |alpha| log S + delta, with T = t - tau (pbs R1, R2, R9, R10; Eq. 2, 6), and the bonus of
 * the current task (pbs R7). All terms are exact in 2^-PBS_BITS but for the logarithms' own error. log T is below
 * 2^6, |alpha| (log S - log kappa) at most 2^15 * 84, and the combined part below 2^19: so |p| < 2^62. With alpha
 * infinite S / kappa alone counts, of the current task over 1 + dT/S (pbs R3, R7, R10).
 */
static NOINLINE void pbs_set_rank(struct pbs_rank *rank, const struct pbs_terms *x, const struct pbs_task *t,
				  u64 is_current, u64 now)
{
	*rank = (struct pbs_rank){ .p = PBS_NEWCOMER };
	if (pbs_is_newcomer(x, t))
		return;
	if (x->is_las) {
		*rank = (struct pbs_rank){ .S = t->of.S, .k = t->w * (is_current ? x->turn : RATIO_ONE) };
		return;
	}
	rank->p = x->sign * (s64)(pbs_log_T(&t->of, now) << 16) + pbs_constant(x, t) + (s64)is_current * x->bonus;
	if (x->epsilon)
		rank->p += pbs_combined(x, t, now);
}

/* Equal priorities go to the earliest arrival, then to the session that began first; for a finite alpha < 0 to the last (pbs
 * R4, R9). */
static inline bool pbs_is_favoured(const struct pbs_terms *x, const struct pbs_task *t, const struct pbs_task *u)
{
	bool older = t->of.tau != u->of.tau ? t->of.tau < u->of.tau : t->order < u->order;

	return older == (x->sign > 0 || x->is_las);
}

static NOINLINE bool pbs_precedes(const struct pbs_terms *x, const struct pbs_task *t, const struct pbs_rank *a,
				  const struct pbs_task *u, const struct pbs_rank *b)
{
	if (a->p != b->p)
		return a->p > b->p;
	if (wide_greater(a->S, b->k, b->S, a->k))
		return false;
	return wide_greater(b->S, a->k, a->S, b->k) || pbs_is_favoured(x, t, u);
}

#endif
