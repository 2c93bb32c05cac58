/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * qfq: quick fair queueing. WF2Q+ with rounded tags: flows of like weight form a group, in which slots sort by start tag,
 * and four sets of groups say with a few bit operations which is eligible and due first. With M above 1 it is QFQ+: a flow
 * is an aggregate of up to M tasks of the same weight, which deficit round-robin serves in turn.
 *
 * Checconi, Rizzo, Valente: "QFQ: Efficient Packet Scheduling with Tight Guarantees" (IEEE/ACM Transactions on
 * Networking 21(3), 2013); both as in Linux, net/sched/sch_qfq.c: papers/qfq.md.
 */
#include "../policy.h"
#include "../lib/bits.h"
#include "../lib/ring.h"
#include "../lib/vtime.h"

#define POLICY_TITLE "quick fair queueing, WF2Q+ in constant time; with M=8 QFQ+"
#define POLICY_BASELINE
#define POLICY_HAS CHARGE | REWEIGH

#define POLICY_PARAMS(P) P(M, INTEGER, "tasks", 1, 1, 64, "tasks of an aggregate at most; Linux has 8")

#define POLICY_SHOWS(V) V("start tag of its flow", "ns of a nice-0 task", qfq_flow(s, task_of(s, id)->flow)->S.v)

#define QFQ_GROUPS 64u
#define QFQ_SLOTS 64u
#define QFQ_BEHIND 16
#define QFQ_AHEAD 32
#define QFQ_OPEN 256u

/* Sets of groups: eligible or not, ready or blocked; blocked is behind a group of higher index with less F. */
enum qfq_state { ER, IR, EB, IB };

struct qfq_group {
	u64 S, F;    /* rounded, of the front slot */
	u64 full;    /* slots that are not empty, from the front one on */
	u32 front;
	u32 waiting; /* flows that are not picked */
};

/* An aggregate of tasks of the same weight, of one with M = 1 */
struct qfq_flow {
	struct vtime S; /* start tag of its next budget, ns of a nice-0 task */
	u64 phi;        /* weight of each task */
	u64 used;       /* ns of its budget, which is a quantum for each runnable task */
	u32 slot;       /* of its group, in which it is */
	u32 group;
	u32 tasks;
	u32 n;          /* runnable ones */
	u32 waiting;    /* that are not picked */
	u32 head;       /* the runnable task whose visit it is */
	u32 served_by;  /* the number of the CPU that does, and 1; 0: it is chosen by its tags */
	u32 unused;     /* the next free aggregate, when this one is */
};

struct qfq_task {
	s64 D;    /* deficit: ns left of its visit */
	u32 flow; /* its aggregate, from its first turn on */
};

struct qfq {
	POLICY_STATE;
	struct vtime V;
	u64 seen;    /* V, up to which groups were made eligible */
	u64 Phi;     /* weights of who is runnable */
	u64 set[4];  /* of groups by state */
	u64 waiting; /* groups of which somebody waits */
	struct qfq_group was; /* scratch: what it was before a change */
	u64 check;   /* scratch */
	u32 found;
	struct qfq_group group[QFQ_GROUPS];
	u32 first[QFQ_GROUPS * QFQ_SLOTS]; /* of each slot's flows; in the order in which they came */
	struct links slots;
	struct links heads;     /* runnable tasks of each flow, in a circle */
	u32 serving[MAX_CPUS];  /* of each CPU: the flow that it chose last */
	u32 free, made;         /* flows: the first that is free; those that there ever were */
	u32 open[QFQ_OPEN];     /* by a hash of the weight: the flow that takes the next such task */
	struct qfq_flow flow[POOL];
	TASKS(qfq_task);
};

static inline struct qfq_group *qfq_group(struct qfq *s, u32 i)
{
	return &s->group[i % QFQ_GROUPS];
}

static inline struct qfq_flow *qfq_flow(struct qfq *s, u32 f)
{
	return &s->flow[f & POOL_MASK];
}

/* i = ceil(log2(L/phi)), the slots of group i are 2^i long (qfq R1). */
static inline u32 qfq_group_of(const struct qfq *s, u64 phi)
{
	u64 virtual = s->tasks.quantum * WEIGHT_NICE_0 / phi;

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

/* Flows of group i have changed, which was as s->was. */
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

/* ---- aggregates (qfq R7) ---- */

static inline u32 *qfq_open(struct qfq *s, u64 phi)
{
	return &s->open[(phi * 0x9e3779b97f4a7c15ull >> 56) % QFQ_OPEN];
}

/* There are as many as tasks at most. */
static inline u32 qfq_new_flow(struct qfq *s, u64 phi, u64 S)
{
	u32 f = s->free ? s->free : ++s->made & POOL_MASK;

	s->free = qfq_flow(s, f)->unused;
	*qfq_flow(s, f) = (struct qfq_flow){ .S.v = S, .phi = phi, .group = qfq_group_of(s, phi) };
	return f;
}

/* The task is of an aggregate of weight phi that has room, or of a new one with start tag S. */
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

/* To the slot of its new start tag (qfq R2); not too far (qfq D2). */
static NOINLINE void qfq_resort(struct qfq *s, u32 f)
{
	struct qfq_flow *t = qfq_flow(s, f);
	u32 i = t->group;
	u64 low = s->V.v - ((u64)QFQ_BEHIND << (i & 63)), high = s->V.v + ((u64)QFQ_AHEAD << (i & 63));

	if (vtime_before(t->S.v, low))
		t->S = (struct vtime){ .v = low };
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

/* ---- tasks come and go ---- */

static inline void qfq_set_weights(struct qfq *s, u64 Phi)
{
	s->Phi = Phi;
	vtime_reweigh(&s->V);
}

/* S = max(F, V) for who was not backlogged (qfq R6) */
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

/* Another weight is a task that goes and one that comes (qfq R6). */
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

/* Of group i the first flow of the first slot; of those of which a task waits (qfq D3). */
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

/* Deficit round-robin: a visit is worth a quantum; who has had more before may have to wait for another (qfq R7). */
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

/* The lowest ready group, which of these has the least F (qfq R3) */
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

/* An aggregate in service is served on (qfq R7). */
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
	task_of(s, id)->D -= ran;
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
