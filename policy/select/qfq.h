/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * qfq: quick fair queueing, which is WF2Q+ with rounded tags. Flows of similar weight form a group, and slots sort them
 * by start tag. Four sets of groups say with a few bit operations which group is eligible and due first. With M above 1
 * it is QFQ+: a flow is an aggregate of up to M tasks of the same weight, which deficit round-robin serves in turn.
 *
 * Checconi, Rizzo, Valente: "QFQ: Efficient Packet Scheduling with Tight Guarantees" (IEEE/ACM Transactions on
 * Networking 21(3), 2013); both as in Linux, net/sched/sch_qfq.c: papers/qfq.md.
 *
 * It follows net/sched/sch_qfq.c of Linux closely: the sets of groups and the slots are as in qfq_unblock_groups(),
 * qfq_calc_state(), qfq_slot_insert() and others. So it has the kernel's licence, GPL-2.0-only, and no other.
 */
#include "qfq/aggregates.h"
#include "qfq/slots.h"

#define POLICY_TITLE "quick fair queueing, WF2Q+ in constant time; with M=8 QFQ+"
#define POLICY_LICENSE "GPL"
#define POLICY_BASELINE
#define POLICY_HAS CHARGE | REWEIGH
#define POLICY_SHARES 1

#define POLICY_SHOWS(V) V("start tag of its flow", "ns of a nice-0 task", qfq_flow(s, task_of(s, id)->flow)->S.v)

/* ---- tasks come and go ---- */

static inline void qfq_set_weights(struct qfq *s, u64 Phi)
{
	s->Phi = Phi;
	vtime_reweigh(&s->V);
}

/* S = max(F, V) for a flow that was not backlogged (qfq R6) */
static inline void qfq_enter(struct qfq *s, u32 id)
{
	u32 f = task_of(s, id)->flow;
	struct qfq_flow *t = qfq_flow(s, f);

	if (!t->n) {
		s->was = *qfq_group(s, t->group);
		t->S = (struct vtime){ .v = vtime_max(t->S.v, s->V.v) };
		t->used = t->served_by = 0;
		qfq_insert(s, f);
		qfq_settle(s, t->group);
	}
	t->n++;
	vtime_reweigh(&t->S);
	ring_push_back(&s->heads, &t->head, id);
	qfq_set_weights(s, s->Phi + t->phi);
}

static inline void qfq_exit(struct qfq *s, u32 id)
{
	u32 f = task_of(s, id)->flow;
	struct qfq_flow *t = qfq_flow(s, f);

	t->n--;
	vtime_reweigh(&t->S);
	ring_remove(&s->heads, &t->head, id);
	if (!t->n) {
		s->was = *qfq_group(s, t->group);
		qfq_take(s, f);
		qfq_settle(s, t->group);
	} else if (qfq_is_done(s, t)) {
		qfq_resort(s, f);
	}
	qfq_set_weights(s, s->Phi - t->phi);
}

static inline void qfq_join(struct qfq *s, u32 id, u64 now, enum why why)
{
	u64 phi = weight_of(&s->tasks, id), S = qfq_flow(s, task_of(s, id)->flow)->S.v;

	if (why == NEW || qfq_flow(s, task_of(s, id)->flow)->phi != phi) {
		qfq_unassign(s, id);
		qfq_assign(s, id, phi, why == NEW ? s->V.v : S);
	}
	qfq_enter(s, id);
	qfq_count_waiting(s, task_of(s, id)->flow, 1);
}

static inline void qfq_leave(struct qfq *s, u32 id, u64 now, enum why why)
{
	if (!is_picked(&s->tasks, id))
		qfq_count_waiting(s, task_of(s, id)->flow, -1);
	qfq_exit(s, id);
	if (why == EXITED)
		qfq_unassign(s, id);
}

/* A task with a new weight leaves and comes back (qfq R6). */
static inline void qfq_reweigh(struct qfq *s, u32 id, u64 w, u64 now)
{
	u32 waits = !is_picked(&s->tasks, id);
	u64 S = qfq_flow(s, task_of(s, id)->flow)->S.v;

	qfq_count_waiting(s, task_of(s, id)->flow, -waits);
	qfq_exit(s, id);
	qfq_unassign(s, id);
	qfq_assign(s, id, w, S);
	qfq_enter(s, id);
	qfq_count_waiting(s, task_of(s, id)->flow, waits);
}

/* ---- selection ---- */

/* Finds the first flow of the first slot of group i, among the flows with a waiting task (qfq D3). */
static NOINLINE void qfq_find_flow(struct qfq *s, u32 i)
{
	s->found = 0;
	s->check = qfq_group(s, i)->full;
	while (s->check && can_loop) {
		u32 first = *qfq_slot(s, i, qfq_group(s, i)->front + lowest_bit(s->check));

		if (!s->found)
			s->found = first;
		if (qfq_flow(s, s->found)->waiting)
			return;
		s->found = ring_next(&s->slots, s->found);
		if (s->found != first)
			continue;
		s->found = 0;
		s->check &= s->check - 1;
	}
}

/* Chooses the lowest ready group: it has the least F of these (qfq R3). */
static inline u32 qfq_choose(struct qfq *s)
{
	u64 groups;

	qfq_update(s);
	groups = s->set[ER] & s->waiting;
	if (!groups)
		groups = s->set[EB] & s->waiting ? s->set[EB] & s->waiting : s->waiting;
	qfq_find_flow(s, lowest_bit(groups));
	return s->found;
}

/* An aggregate in service goes on (qfq R7). */
static inline u32 qfq_pick(struct qfq *s, u32 cpu, u64 now)
{
	u32 f = s->serving[cpu & CPU_MASK];

	if (!s->waiting)
		return 0;
	if (qfq_flow(s, f)->served_by != cpu + 1 || !qfq_flow(s, f)->waiting)
		f = qfq_choose(s);
	s->serving[cpu & CPU_MASK] = f;
	qfq_flow(s, f)->served_by = cpu + 1;
	qfq_find_task(s, f);
	qfq_count_waiting(s, f, -1);
	return s->found;
}

/* S += W/phi, V += W/Phi for an amount of service W (qfq R5) */
static inline void qfq_charge(struct qfq *s, u32 id, u64 ran, u64 now)
{
	struct qfq_flow *t = qfq_flow(s, task_of(s, id)->flow);

	vtime_advance(&t->S, ran, t->n * t->phi);
	vtime_advance(&s->V, ran, s->Phi);
	t->used += ran;
	qfq_owe(s, id, ran);
}

/* Its visit may be over (qfq R7), and its flow's budget used. */
static inline void qfq_stop(struct qfq *s, u32 id, u64 now, enum why why)
{
	u32 f = task_of(s, id)->flow;
	struct qfq_flow *t = qfq_flow(s, f);

	if (task_of(s, id)->D <= 0 || why == YIELDED) {
		ring_remove(&s->heads, &t->head, id);
		ring_push_back(&s->heads, &t->head, id);
	}
	if (qfq_is_done(s, t))
		qfq_resort(s, f);
	qfq_count_waiting(s, f, 1);
}
