/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * eevdf: earliest eligible virtual deadline first. Tasks that have not had more than their part are eligible; the eligible one
 * whose next slice is due first runs.
 *
 * Stoica, Abdel-Wahab: "Earliest Eligible Virtual Deadline First" (TR-95-22, 1995), by the rules of Linux 6.12
 * (kernel/sched/fair.c, features.h): papers/eevdf.md. Linux's features are parameters where it has them on;
 * eevdf:parity=off:delay=off:initial=off is the algorithm as published.
 * Not taken: one queue per CPU (eevdf D1), a slice of its own for a task (eevdf D4), groups (eevdf D5).
 *
 * It follows kernel/sched/fair.c of Linux 6.12 closely: placement, lag and a new weight are as in place_entity(),
 * entity_lag() and reweight_eevdf(). So it has the kernel's licence, GPL-2.0-only, and no other.
 */
#include "eevdf/lag.h"
#include "eevdf/state.h"

#define POLICY_TITLE "earliest eligible virtual deadline first, as in Linux 6.12"
#define POLICY_LICENSE "GPL"
#define POLICY_BASELINE
#define POLICY_HAS INIT | CHARGE | REWEIGH | SLICE | PREEMPTS | PEEK | PREPARE | DROPS
#define POLICY_SHARES 1
#define POLICY_SUMS_UNCHARGED 1

#define POLICY_SHOWS(V) \
	V("virtual runtime", "ns of a nice-0 task", task_of(s, id)->v.v) \
	V("virtual deadline", "ns of a nice-0 task", task_of(s, id)->d) \
	V("lag", "ns of a nice-0 task", eevdf_shown_lag(s, id))

/* ---- the search ---- */

/* Sets best to the eligible task with the earliest deadline (eevdf R3). v is an integer, so v <= V if v <= floor(V). */
static NOINLINE void eevdf_search(struct eevdf *s)
{
	s->best = eligible_first(&s->waiting, mean_floor(&s->V));
}

/* The same while a woken task is compared with one CPU's task after the other: nobody comes or goes, so the search finds another
 * one only if V moves. */
static inline void eevdf_search_again(struct eevdf *s)
{
	if (!s->best || s->waiting.V != mean_floor(&s->V))
		eevdf_search(s);
}

/* ---- the contract ---- */

static inline void eevdf_init(struct eevdf *s)
{
	u32 log = 31 - __builtin_clz(s->tasks.ncpus | 1);

	s->scale = 1 + (log < 3 ? log : 3);
}

/* V' = V: lag w and (d - V) w stay (eevdf R12). A lag that is cut short can move v beyond d. */
static inline void eevdf_rescale(struct eevdf *s, u32 id, u64 w)
{
	struct eevdf_task *t = task_of(s, id);
	u64 lag = eevdf_lag(s, t), V = s->V.v0;

	mean_remove(&s->V, t->v.v, t->w);
	t->v = (struct vtime){ .v = V - eevdf_scaled(s, lag, t->w, w) };
	t->d = V + eevdf_scaled(s, t->d - V, t->w, w);
	t->w = w;
	eevdf_renew(s, t);
	mean_add(&s->V, t->v.v, w);
	if (eligible_holds(&s->waiting, id)) {
		eligible_remove(&s->waiting, id);
		eevdf_wait(s, id);
	}
}

static inline void eevdf_join(struct eevdf *s, u32 id, u64 now, enum why why)
{
	struct eevdf_task *t = task_of(s, id);

	s->asks = 0;
	eevdf_sum_due(s, now);
	if (t->delayed && why == WOKEN && !eevdf_is_eligible(s, id)) {
		t->delayed = false; /* it goes on as if it had waited (eevdf R10) */
		if (t->w != weight_of(&s->tasks, id))
			eevdf_rescale(s, id, weight_of(&s->tasks, id));
		return;
	}
	if (t->delayed)
		eevdf_forget(s, id);
	eevdf_place(s, id, why == NEW);
	eevdf_wait(s, id);
}

/* V still counts a task that goes to sleep while it is not eligible (eevdf R10). */
static inline void eevdf_leave(struct eevdf *s, u32 id, u64 now, enum why why)
{
	eevdf_sum_due(s, now);
	if (why == EXITED || !s->param.delay || eevdf_is_eligible(s, id)) {
		eevdf_forget(s, id);
		return;
	}
	task_of(s, id)->delayed = true;
	if (is_picked(&s->tasks, id))
		eevdf_wait(s, id);
}

static inline void eevdf_before_peek(struct eevdf *s, u32 cpu, u64 now)
{
	eevdf_sum_due(s, now);
}

/* A delayed task that would be picked is dropped, and the policy asked again (eevdf R10). */
static inline u32 eevdf_peek(struct eevdf *s, u32 cpu, u64 now)
{
	eevdf_search(s);
	if (!task_of(s, s->best)->delayed)
		return s->best;
	eevdf_forget(s, s->best);
	return REMOVED;
}

static inline void eevdf_take(struct eevdf *s, u32 id)
{
	struct eevdf_task *t = task_of(s, id);

	t->parity = t->d;
	eligible_remove(&s->waiting, id);
}

/* v += service / w (eevdf R4) */
static inline void eevdf_charge(struct eevdf *s, u32 id, u64 ran, u64 now)
{
	struct eevdf_task *t = task_of(s, id);
	u64 v = t->v.v;

	vtime_advance(&t->v, ran, t->w);
	mean_move(&s->V, t->w, t->v.v - v);
	eevdf_renew(s, t);
}

/* A yield puts the deadline off by a slice, if another task is runnable (eevdf R14). */
static inline void eevdf_stop(struct eevdf *s, u32 id, u64 now, enum why why)
{
	struct eevdf_task *t = task_of(s, id);

	if (why == YIELDED && s->tasks.nrunnable > 1 && t->d - t->v.v < EEVDF_FAR)
		t->d += eevdf_virtual(eevdf_request(s), t->w);
	eevdf_wait(s, id);
}

static inline void eevdf_reweigh(struct eevdf *s, u32 id, u64 w, u64 now)
{
	eevdf_sum_due(s, now);
	eevdf_rescale(s, id, w);
}

/* The rest of the service until v reaches d: (d - v) w, rounded up (eevdf R5) */
static inline u64 eevdf_slice(struct eevdf *s, u32 id)
{
	struct eevdf_task *t = task_of(s, id);
	struct wide up = { .lo = WEIGHT_NICE_0 - 1 };

	return wide_div(&s->division, wide_add(wide_mul(t->d - t->v.v, t->w), up), WEIGHT_NICE_0);
}

/* A woken task preempts if it would be picked; the running task takes part in that. The running task is protected while
 * it is eligible and has the deadline with which it was picked (eevdf R6). */
static inline bool eevdf_preempts(struct eevdf *s, u32 woken, u32 running, u64 now)
{
	struct eevdf_task *t = task_of(s, running);
	bool eligible;

	if (s->asks != woken) {
		s->asks = woken;
		s->best = 0;
	}
	eevdf_sum_due(s, now);
	eligible = eevdf_is_eligible(s, running);
	if (eligible && s->param.parity && t->d == t->parity)
		return false;
	eevdf_search_again(s);
	if (s->best != woken || !eevdf_is_eligible(s, woken))
		return false;
	return !eligible || !vtime_before(t->d, task_of(s, woken)->d);
}
