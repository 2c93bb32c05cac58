/* SPDX-License-Identifier: GPL-2.0-only */
/* qfq: the slots of a group, which sort its flows by start tag. */
#ifndef DIVVY_QFQ_SLOTS_H
#define DIVVY_QFQ_SLOTS_H

#include "sets.h"

static inline u32 *qfq_slot(struct qfq *s, u32 i, u32 slot)
{
	return &s->first[(i % QFQ_GROUPS) * QFQ_SLOTS + slot % QFQ_SLOTS];
}

static inline void qfq_set_front(struct qfq *s, u32 i, u64 S)
{
	struct qfq_group *g = qfq_group(s, i);

	g->S = S;
	g->F = S + (2ull << (i & 63));
}

/* The front slot is the first that is not empty. */
static inline void qfq_scan(struct qfq *s, u32 i)
{
	struct qfq_group *g = qfq_group(s, i);
	u64 empty = lowest_bit(g->full) & 63;

	g->front += empty;
	g->full >>= empty;
	qfq_set_front(s, i, g->S + (empty << (i & 63)));
}

/* Slots move back so that S is the front, if there is room for all (qfq R2). */
static inline void qfq_rotate(struct qfq *s, u32 i, u64 S)
{
	struct qfq_group *g = qfq_group(s, i);
	u64 by = (g->S - S) >> (i & 63);

	if (by >= QFQ_SLOTS || g->full << by >> by != g->full)
		return;
	g->front -= by;
	g->full <<= by;
	qfq_set_front(s, i, S);
}

/* Puts the flow last into the slot of its start tag (qfq R2). */
static NOINLINE void qfq_insert(struct qfq *s, u32 f)
{
	struct qfq_flow *t = qfq_flow(s, f);
	u32 i = t->group;
	struct qfq_group *g = qfq_group(s, i);
	u64 S = qfq_round(t->S.v, i), slot;

	if (!g->full)
		qfq_set_front(s, i, S);
	if (vtime_before(S, g->S))
		qfq_rotate(s, i, S);
	slot = vtime_before(S, g->S) ? 0 : (S - g->S) >> (i & 63);
	if (slot >= QFQ_SLOTS)
		slot = QFQ_SLOTS - 1;
	g->full |= 1ull << slot;
	t->slot = (g->front + slot) % QFQ_SLOTS;
	ring_push_back(&s->slots, qfq_slot(s, i, t->slot), f);
}

static NOINLINE void qfq_take(struct qfq *s, u32 f)
{
	struct qfq_flow *t = qfq_flow(s, f);
	struct qfq_group *g = qfq_group(s, t->group);
	u32 *first = qfq_slot(s, t->group, t->slot);

	ring_remove(&s->slots, first, f);
	if (!*first)
		g->full &= ~(1ull << ((t->slot - g->front) % QFQ_SLOTS));
}

/* The flows of group i have changed; s->was is the group before. */
static NOINLINE void qfq_settle(struct qfq *s, u32 i)
{
	struct qfq_group *g = qfq_group(s, i), *was = &s->was;

	if (g->full)
		qfq_scan(s, i);
	if (was->full && g->full && was->S == g->S)
		return;
	if (g->full)
		qfq_classify(s, i);
	else
		qfq_forget(s, i);
	if (was->full)
		qfq_unblock(s, i, was->F);
}

static inline void qfq_count_waiting(struct qfq *s, u32 f, u32 more)
{
	struct qfq_flow *t = qfq_flow(s, f);
	struct qfq_group *g = qfq_group(s, t->group);

	t->waiting += more;
	g->waiting += more;
	s->waiting = g->waiting ? s->waiting | qfq_bit(t->group) : s->waiting & ~qfq_bit(t->group);
}

#endif
