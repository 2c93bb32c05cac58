/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * qfq: quick fair queueing. WF2Q+ with rounded tags: flows of like weight form a group, in which slots sort by start tag,
 * and four sets of groups say with a few bit operations which is eligible and due first.
 *
 * Checconi, Rizzo, Valente: "QFQ: Efficient Packet Scheduling with Tight Guarantees" (IEEE/ACM Transactions on
 * Networking 21(3), 2013); as in Linux, net/sched/sch_qfq.c: papers/qfq.md.
 * Not taken: the aggregates of QFQ+ (qfq D1).
 */
#include "../policy.h"
#include "../lib/bits.h"
#include "../lib/ring.h"
#include "../lib/vtime.h"

#define POLICY_PARAMS(P)

#define POLICY_ABOUT(A) \
	A(TITLE, "quick fair queueing: WF2Q+ in constant time, by rounded tags") \
	A(PAPER, "Checconi, Rizzo, Valente: QFQ: Efficient Packet Scheduling with Tight Guarantees, ToN 21(3), 2013") \
	A(GUARANTEE, "on one CPU, a task that stays runnable is within a few quanta of its part, however many there are") \
	A(GUARANTEE, "on several CPUs none when a weight asks for more than a CPU: use qfq+feasible") \
	A(COST, "O(1)") \
	A(DEVIATION, "D1: each flow is an aggregate of its own") \
	A(DEVIATION, "D2: a start tag is kept from 16 slots behind V to 32 ahead of it, when a turn ends") \
	A(DEVIATION, "D3: on P CPUs who runs stays in its slot; if nobody of the ready groups waits, the lowest other group is taken") \
	A(DEVIATION, "D4: tags are made with a quantum, and corrected by what of it was used")

#define QFQ_GROUPS 64u
#define QFQ_SLOTS 64u
#define QFQ_BEHIND 16
#define QFQ_AHEAD 32

/* Sets of groups: eligible or not, ready or blocked; blocked is behind a group of higher index with less F. */
enum qfq_state { ER, IR, EB, IB };

struct qfq_group {
	u64 S, F;    /* rounded, of the front slot */
	u64 full;    /* slots that are not empty, from the front one on */
	u32 front;
	u32 waiting; /* flows that are not picked */
};

struct qfq_flow {
	struct vtime S; /* start tag of its next quantum, ns of a nice-0 task */
	u32 slot;       /* of its group, in which it is */
	u32 group;
};

struct qfq {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	struct vtime V;
	u64 seen;    /* V, up to which groups were made eligible */
	u64 Phi;     /* weights of who is runnable */
	u64 set[4];  /* of groups by state */
	u64 waiting; /* groups of which somebody waits */
	u64 check;   /* scratch */
	u32 found;
	struct qfq_group group[QFQ_GROUPS];
	u32 first[QFQ_GROUPS * QFQ_SLOTS]; /* of each slot's flows; in the order in which they came */
	struct links slots;
	struct qfq_flow flow[POOL];
};

static inline struct qfq_group *qfq_group(struct qfq *s, u32 i)
{
	return &s->group[i % QFQ_GROUPS];
}

static inline struct qfq_flow *qfq_flow(struct qfq *s, u32 id)
{
	return &s->flow[id & POOL_MASK];
}

static inline void qfq_init(struct qfq *s)
{
}

/* i = ceil(log2(L/phi)), the slots of group i are 2^i long (qfq R1). */
static inline u32 qfq_group_of(const struct qfq *s, u64 phi)
{
	u64 virtual = s->facts.quantum * WEIGHT_NICE_0 / phi;

	return virtual > 1 ? (floor_log2(virtual - 1) + 1) % QFQ_GROUPS : 0;
}

static inline u64 qfq_round(u64 v, u32 i)
{
	return v >> (i & 63) << (i & 63);
}

static inline u64 qfq_bit(u32 i)
{
	return 1ull << (i & 63);
}

/* Groups of a higher index */
static inline u64 qfq_above(u32 i)
{
	return ~0ull << (i & 63) & ~qfq_bit(i);
}

/* ---- sets of groups ---- */

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

/* Eligible: S <= V. Blocked: of the ready groups above it the lowest, which has the least F, has less (qfq R3). */
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

/* Group i no longer has the finish tag F: those below it that it blocked are ready, if no other does (qfq R4). */
static inline void qfq_unblock(struct qfq *s, u32 i, u64 F)
{
	u64 above = s->set[ER] & qfq_above(i);

	if (above && !vtime_before(F, qfq_group(s, lowest_bit(above))->F))
		return;
	qfq_move(s, qfq_bit(i) - 1, EB, ER);
	qfq_move(s, qfq_bit(i) - 1, IB, IR);
}

/* Of the groups in s->check those whose S has been reached are eligible. */
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

/* If nothing is ready V = max(V, S of the lowest group). S is a multiple of 2^i, so only groups whose bit of V or a
 * higher one has changed can have become eligible (qfq R5). */
static inline void qfq_update(struct qfq *s)
{
	u64 ineligible = s->set[IR] | s->set[IB], changed;

	if (ineligible && !(s->set[ER] | s->set[EB])) {
		u64 S = qfq_group(s, lowest_bit(ineligible))->S;

		if (vtime_before(s->V.v, S))
			s->V = (struct vtime){ .v = S };
	}
	changed = s->V.v ^ s->seen;
	s->seen = s->V.v;
	s->check = changed ? ineligible & ~qfq_above(floor_log2(changed)) : 0;
	qfq_make_eligible(s);
}

/* ---- slots of a group ---- */

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

/* Last in the slot of its start tag (qfq R2) */
static inline void qfq_insert(struct qfq *s, u32 id, u32 i)
{
	struct qfq_group *g = qfq_group(s, i);
	struct qfq_flow *t = qfq_flow(s, id);
	u64 S = qfq_round(t->S.v, i), slot;

	if (!g->full)
		qfq_set_front(s, i, S);
	if (vtime_before(S, g->S))
		qfq_rotate(s, i, S);
	slot = vtime_before(S, g->S) ? 0 : (S - g->S) >> (i & 63);
	if (slot >= QFQ_SLOTS)
		slot = QFQ_SLOTS - 1;
	g->full |= 1ull << slot;
	t->group = i;
	t->slot = (g->front + slot) % QFQ_SLOTS;
	ring_push_back(&s->slots, qfq_slot(s, i, t->slot), id);
}

static inline void qfq_take(struct qfq *s, u32 id)
{
	struct qfq_flow *t = qfq_flow(s, id);
	struct qfq_group *g = qfq_group(s, t->group);
	u32 *first = qfq_slot(s, t->group, t->slot);

	ring_remove(&s->slots, first, id);
	if (!*first)
		g->full &= ~(1ull << ((t->slot - g->front) % QFQ_SLOTS));
}

/* Flows of group i have changed, which was as `was`. */
static inline void qfq_settle(struct qfq *s, u32 i, const struct qfq_group *was)
{
	struct qfq_group *g = qfq_group(s, i);

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

static inline void qfq_count_waiting(struct qfq *s, u32 i, u32 more)
{
	struct qfq_group *g = qfq_group(s, i);

	g->waiting += more;
	s->waiting = g->waiting ? s->waiting | qfq_bit(i) : s->waiting & ~qfq_bit(i);
}

/* ---- flows come and go ---- */

static inline void qfq_set_weights(struct qfq *s, u64 Phi)
{
	s->Phi = Phi;
	vtime_reweigh(&s->V);
}

/* S = max(F, V) (qfq R6) */
static inline void qfq_enter(struct qfq *s, u32 id, u64 phi)
{
	struct qfq_flow *t = qfq_flow(s, id);
	u32 i = qfq_group_of(s, phi);
	struct qfq_group was = *qfq_group(s, i);

	t->S = (struct vtime){ .v = vtime_max(t->S.v, s->V.v) };
	qfq_insert(s, id, i);
	qfq_settle(s, i, &was);
	qfq_set_weights(s, s->Phi + phi);
}

static inline void qfq_exit(struct qfq *s, u32 id)
{
	u32 i = qfq_flow(s, id)->group;
	struct qfq_group was = *qfq_group(s, i);

	qfq_take(s, id);
	qfq_settle(s, i, &was);
	qfq_set_weights(s, s->Phi - weight_of(&s->facts, id));
}

static inline void qfq_join(struct qfq *s, u32 id, u64 now, enum why why)
{
	if (why == NEW)
		qfq_flow(s, id)->S.v = s->V.v;
	qfq_enter(s, id, weight_of(&s->facts, id));
	qfq_count_waiting(s, qfq_flow(s, id)->group, 1);
}

static inline void qfq_leave(struct qfq *s, u32 id, u64 now, enum why why)
{
	if (!is_picked(&s->facts, id))
		qfq_count_waiting(s, qfq_flow(s, id)->group, -1);
	qfq_exit(s, id);
}

/* Another weight is a flow that goes and one that comes (qfq R6). */
static inline void qfq_reweigh(struct qfq *s, u32 id, u64 w, u64 now)
{
	u32 waits = !is_picked(&s->facts, id);

	qfq_count_waiting(s, qfq_flow(s, id)->group, -waits);
	qfq_exit(s, id);
	qfq_enter(s, id, w);
	qfq_count_waiting(s, qfq_flow(s, id)->group, waits);
}

/* ---- selection ---- */

/* Of group i the first flow of the first slot; of those that are not picked (qfq D3). */
static NOINLINE void qfq_find(struct qfq *s, u32 i)
{
	s->found = 0;
	s->check = qfq_group(s, i)->full;
	while (s->check && can_loop) {
		u32 first = *qfq_slot(s, i, qfq_group(s, i)->front + lowest_bit(s->check));

		if (!s->found)
			s->found = first;
		if (!is_picked(&s->facts, s->found))
			return;
		s->found = ring_next(&s->slots, s->found);
		if (s->found != first)
			continue;
		s->found = 0;
		s->check &= s->check - 1;
	}
}

/* The lowest ready group, which of these has the least F (qfq R3) */
static inline u32 qfq_pick(struct qfq *s, u32 cpu, u64 now)
{
	u64 groups;

	if (!s->waiting)
		return 0;
	qfq_update(s);
	groups = s->set[ER] & s->waiting;
	if (!groups)
		groups = s->set[EB] & s->waiting ? s->set[EB] & s->waiting : s->waiting;
	qfq_find(s, lowest_bit(groups));
	qfq_count_waiting(s, lowest_bit(groups), -1);
	return s->found;
}

/* S += W/phi, V += W/Phi for an amount of service W (qfq R5) */
static inline void qfq_charge(struct qfq *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(&qfq_flow(s, id)->S, ran, weight_of(&s->facts, id));
	vtime_advance(&s->V, ran, s->Phi);
}

/* To the slot of its new start tag (qfq R2); not too far (qfq D2). */
static inline void qfq_stop(struct qfq *s, u32 id, u64 now, enum why why)
{
	struct qfq_flow *t = qfq_flow(s, id);
	u32 i = t->group;
	struct qfq_group was = *qfq_group(s, i);
	u64 low = s->V.v - ((u64)QFQ_BEHIND << (i & 63)), high = s->V.v + ((u64)QFQ_AHEAD << (i & 63));

	if (vtime_before(t->S.v, low))
		t->S = (struct vtime){ .v = low };
	if (vtime_before(high, t->S.v))
		t->S = (struct vtime){ .v = high };
	qfq_take(s, id);
	qfq_insert(s, id, i);
	qfq_settle(s, i, &was);
	qfq_count_waiting(s, i, 1);
}
