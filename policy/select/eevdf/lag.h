/* SPDX-License-Identifier: GPL-2.0-only */
/* eevdf: requests, the mean V of all tasks, and how far each is from it (eevdf R1 to R9). It follows fair.c as eevdf.h says. */
#ifndef DIVVY_EEVDF_LAG_H
#define DIVVY_EEVDF_LAG_H

#include "state.h"

/* ---- slices and lags ---- */

/* r/w, rounded down, at least 1 */
static inline u64 eevdf_virtual(u64 r, u64 w)
{
	u64 v = r * WEIGHT_NICE_0 / w;

	return v ? v : 1;
}

/* x * a / b of a signed x, rounded towards 0, and limited to +-EEVDF_FAR */
static inline u64 eevdf_scaled(struct eevdf *s, u64 x, u64 a, u64 b)
{
	u64 size = wide_mul_div(&s->division, (s64)x < 0 ? -x : x, a, b);

	if (size > EEVDF_FAR)
		size = EEVDF_FAR;
	return (s64)x < 0 ? -size : size;
}

/* 0.7 ms * (1 + log2 CPUs) (eevdf R13) */
static inline u64 eevdf_request(const struct eevdf *s)
{
	return s->param.slice ? s->param.slice : 700000 * s->scale;
}

/* lag = V - v, within max(2 slices, a tick) of service (eevdf R7) */
static inline u64 eevdf_lag(struct eevdf *s, const struct eevdf_task *t)
{
	u64 slices = 2 * eevdf_request(s);
	u64 limit = eevdf_virtual(slices > EEVDF_TICK ? slices : EEVDF_TICK, t->w);
	u64 lag = mean_floor(&s->V) - t->v.v;

	if ((s64)lag > (s64)limit)
		return limit;
	return (s64)lag < -(s64)limit ? -limit : lag;
}

/* V - v without the service that was not charged. It takes a copy, because looking must change nothing. */
static inline s64 eevdf_shown_lag(const struct eevdf *s, u32 id)
{
	struct mean V = s->V;

	V.due = 0;
	return mean_floor(&V) - task_of(s, id)->v.v;
}

/* ---- V ---- */

/* V counts what all received until now. */
static inline void eevdf_sum_due(struct eevdf *s, u64 now)
{
	s->V.due = uncharged_of_all(&s->tasks, now);
}

/* v <= V: the task has not had more than its part (eevdf R1, R2). */
static inline bool eevdf_is_eligible(struct eevdf *s, u32 id)
{
	return mean_reached(&s->V, task_of(s, id)->v.v);
}

/* d = v + r/w, once v has reached it (eevdf R4) */
static inline void eevdf_renew(struct eevdf *s, struct eevdf_task *t)
{
	if (!vtime_before(t->v.v, t->d))
		t->d = t->v.v + eevdf_virtual(eevdf_request(s), t->w);
}

/* v = V - lag (W + w)/W, so that its lag is the same when V counts it (eevdf R8);
 * d = v + r/w, half of it for a new one (eevdf R9) */
static inline void eevdf_place(struct eevdf *s, u32 id, bool is_new)
{
	struct eevdf_task *t = task_of(s, id);
	u64 w = weight_of(&s->tasks, id), W = s->V.w, lag = 0;

	if (s->param.lag && !is_new && W)
		lag = eevdf_scaled(s, eevdf_scaled(s, t->lag, t->w, w), W + w, W);
	t->w = w;
	t->v = (struct vtime){ .v = mean_floor(&s->V) - lag };
	t->d = t->v.v + eevdf_virtual(eevdf_request(s) >> (is_new && s->param.initial), w);
	mean_add(&s->V, t->v.v, w);
}

/* V no longer counts the task, and its lag is kept (eevdf R7). */
static inline void eevdf_forget(struct eevdf *s, u32 id)
{
	struct eevdf_task *t = task_of(s, id);

	t->lag = eevdf_lag(s, t);
	if (t->delayed && (s64)t->lag > 0)
		t->lag = 0; /* DELAY_ZERO: sleep earns nothing (eevdf R11) */
	t->delayed = false;
	mean_remove(&s->V, t->v.v, t->w);
	eligible_remove(&s->waiting, id);
}

static inline void eevdf_wait(struct eevdf *s, u32 id)
{
	eligible_insert(&s->waiting, id, task_of(s, id)->v.v, task_of(s, id)->d);
}

#endif
