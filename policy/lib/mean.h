/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The weighted mean of tasks' virtual times, V = (sum of w v) / W with W = sum of w, exactly.
 *
 * As sums only: for any v0, V = v0 + A/W with A = sum of w (v - v0), so v <= V without a division is
 * (v - v0) W <= A. Service that a task received and that is not in its v yet moves V as well: ran ns are
 * ran / w of v, so w ran / w = ran of A, whatever the weight.
 *
 * Nothing overflows: weights are at most 2^40 and tasks at most 2^20, so W <= 2^60; virtual times differ by less
 * than 2^63 (they may wrap around), and A is kept in 128 bits, below 2^124. v0 follows V only to keep divisions
 * short.
 */
#ifndef DIVVY_MEAN_H
#define DIVVY_MEAN_H

#include "../base.h"
#include "wide.h"

struct mean {
	u64 w;         /* W */
	u64 v0;        /* ns of a nice-0 task */
	struct wide a; /* A, signed */
	u64 due;       /* ns of service that are in no v yet, of all tasks; signed */
	struct wide_division division;
};

/* A member's v grew by dv, which may be negative. */
static inline void mean_move(struct mean *m, u64 w, u64 dv)
{
	m->a = wide_add(m->a, wide_mul_signed(w, dv));
}

static inline void mean_add(struct mean *m, u64 v, u64 w)
{
	m->w += w;
	mean_move(m, w, v - m->v0);
}

static inline void mean_remove(struct mean *m, u64 v, u64 w)
{
	m->w -= w;
	mean_move(m, w, m->v0 - v);
}

/* A, with what is due */
static inline struct wide mean_sum(const struct mean *m)
{
	return wide_add(m->a, wide_mul_signed(WEIGHT_NICE_0, m->due));
}

/* v <= V; of no tasks, always */
static inline bool mean_reached(const struct mean *m, u64 v)
{
	return !wide_is_negative(wide_add(mean_sum(m), wide_mul_signed(m->w, m->v0 - v)));
}

/* V rounded down; of no tasks, where it last was */
static inline u64 mean_floor(struct mean *m)
{
	struct wide sum = mean_sum(m), rest;
	u64 delta;

	if (!m->w)
		return m->v0;
	if (wide_is_negative(sum))
		delta = -wide_div(&m->division, wide_negate(sum), m->w);
	else
		delta = wide_div(&m->division, sum, m->w);
	/* Below v0 that was rounded up. */
	rest = wide_add(sum, wide_mul_signed(m->w, -delta));
	if (wide_is_negative(rest))
		delta--;
	m->v0 += delta;
	mean_move(m, m->w, -delta);
	return m->v0;
}

#endif
