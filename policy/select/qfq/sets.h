/* SPDX-License-Identifier: GPL-2.0-only */
/* qfq: the four sets of groups, which say which group is eligible and ready. */
#ifndef DIVVY_QFQ_SETS_H
#define DIVVY_QFQ_SETS_H

#include "state.h"

static inline void qfq_move(struct qfq *s, u64 mask, enum qfq_state from, enum qfq_state to)
{
	s->set[to] |= s->set[from] & mask;
	s->set[from] &= ~mask;
}

static inline void qfq_forget(struct qfq *s, u32 i)
{
	s->set[ER] &= ~qfq_bit(i);
	s->set[IR] &= ~qfq_bit(i);
	s->set[EB] &= ~qfq_bit(i);
	s->set[IB] &= ~qfq_bit(i);
}

/* Eligible: S <= V. Blocked: a ready group above it has less F. The lowest of these has the least F (qfq R3). */
static inline void qfq_classify(struct qfq *s, u32 i)
{
	struct qfq_group *g = qfq_group(s, i);
	u64 above = s->set[ER] & qfq_above(i);
	u32 state = vtime_before(s->V.v, g->S) ? IR : ER;

	if (above && vtime_before(qfq_group(s, lowest_bit(above))->F, g->F))
		state += EB - ER;
	qfq_forget(s, i);
	s->set[state & 3] |= qfq_bit(i);
}

/* Group i no longer has the finish tag F. The lower groups that it blocked become ready, if no other group blocks them
 * (qfq R4). */
static inline void qfq_unblock(struct qfq *s, u32 i, u64 F)
{
	u64 above = s->set[ER] & qfq_above(i);

	if (above && !vtime_before(F, qfq_group(s, lowest_bit(above))->F))
		return;
	qfq_move(s, qfq_bit(i) - 1, EB, ER);
	qfq_move(s, qfq_bit(i) - 1, IB, IR);
}

/* The groups in s->check become eligible if V has reached their S. */
static NOINLINE void qfq_make_eligible(struct qfq *s)
{
	while (s->check && can_loop) {
		u32 i = lowest_bit(s->check);

		if (!vtime_before(s->V.v, qfq_group(s, i)->S)) {
			qfq_move(s, qfq_bit(i), IR, ER);
			qfq_move(s, qfq_bit(i), IB, EB);
		}
		s->check &= s->check - 1;
	}
}

/* If no group is eligible, V = max(V, S of the lowest group). S is a multiple of 2^i, so a group can have become
 * eligible only if its bit of V or a higher one has changed (qfq R5). */
static inline void qfq_update(struct qfq *s)
{
	u64 ineligible = s->set[IR] | s->set[IB], changed;

	if (ineligible && !(s->set[ER] | s->set[EB])) {
		u64 S = qfq_group(s, lowest_bit(ineligible))->S;

		vtime_raise(&s->V, S);
	}
	changed = s->V.v ^ s->seen;
	s->seen = s->V.v;
	s->check = changed ? ineligible & ~qfq_above(floor_log2(changed)) : 0;
	qfq_make_eligible(s);
}

#endif
