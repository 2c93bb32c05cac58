/* SPDX-License-Identifier: GPL-2.0-only */
/* qfq: the aggregates of QFQ+, flows of up to M tasks of the same weight, which deficit round-robin serves in turn
 * (qfq R7). */
#ifndef DIVVY_QFQ_AGGREGATES_H
#define DIVVY_QFQ_AGGREGATES_H

#include "slots.h"

static inline u32 *qfq_open(struct qfq *s, u64 phi)
{
	return &s->open[(phi * 0x9e3779b97f4a7c15ull >> 56) % QFQ_OPEN];
}

/* There are at most as many flows as tasks. */
static inline u32 qfq_new_flow(struct qfq *s, u64 phi, u64 S)
{
	u32 f = s->free ? s->free : ++s->made & POOL_MASK;

	s->free = qfq_flow(s, f)->unused;
	*qfq_flow(s, f) = (struct qfq_flow){ .S.v = S, .phi = phi, .group = qfq_group_of(s, phi) };
	return f;
}

/* Puts the task into an aggregate of weight phi that has room, or into a new one with start tag S. */
static NOINLINE void qfq_assign(struct qfq *s, u32 id, u64 phi, u64 S)
{
	u32 *open = qfq_open(s, phi);
	struct qfq_flow *t = qfq_flow(s, *open);

	if (!t->tasks || t->phi != phi || t->tasks >= (u64)s->param.M)
		*open = qfq_new_flow(s, phi, S);
	qfq_flow(s, *open)->tasks++;
	task_of(s, id)->flow = *open;
	task_of(s, id)->D = 0;
}

static NOINLINE void qfq_unassign(struct qfq *s, u32 id)
{
	u32 f = task_of(s, id)->flow;

	task_of(s, id)->flow = 0;
	if (!f || --qfq_flow(s, f)->tasks)
		return;
	qfq_flow(s, f)->unused = s->free;
	s->free = f;
}

/* Moves the flow to the slot of its new start tag (qfq R2), which is kept near V (qfq D2). */
static NOINLINE void qfq_resort(struct qfq *s, u32 f)
{
	struct qfq_flow *t = qfq_flow(s, f);
	u32 i = t->group;
	u64 low = s->V.v - ((u64)QFQ_BEHIND << (i & 63)), high = s->V.v + ((u64)QFQ_AHEAD << (i & 63));

	vtime_raise(&t->S, low);
	if (vtime_before(high, t->S.v))
		t->S = (struct vtime){ .v = high };
	t->used = t->served_by = 0;
	s->was = *qfq_group(s, i);
	qfq_take(s, f);
	qfq_insert(s, f);
	qfq_settle(s, i);
}

/* An aggregate stays where it is, in service, until its budget is used. */
static inline bool qfq_is_done(const struct qfq *s, const struct qfq_flow *t)
{
	return t->n == 1 || t->used >= t->n * s->tasks.quantum;
}

/* It owes no more than so many visits: each is a round of the search below (qfq D5). */
static inline void qfq_owe(struct qfq *s, u32 id, u64 ran)
{
	s64 most = QFQ_DEBT_MAX * s->tasks.quantum, *D = &task_of(s, id)->D;

	*D -= ran < (u64)most ? (s64)ran : most;
	if (*D < -most)
		*D = -most;
}

/* Deficit round-robin (qfq R7): a visit is worth a quantum. A task that had more before may have to wait for another
 * visit. */
static NOINLINE void qfq_find_task(struct qfq *s, u32 f)
{
	s->found = qfq_flow(s, f)->head;
	while (can_loop) {
		struct qfq_task *t = task_of(s, s->found);

		if (!is_picked(&s->tasks, s->found)) {
			if (t->D <= 0)
				t->D += s->tasks.quantum;
			if (t->D > 0)
				return;
		}
		s->found = qfq_flow(s, f)->head = ring_next(&s->heads, s->found);
	}
}

#endif
