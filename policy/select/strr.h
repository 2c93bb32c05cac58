/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * strr: stratified round-robin. Flows of similar weight form a class, which has slots at intervals of its weight. The
 * flows of a class take turns in its slots, each with a deficit of its own.
 *
 * Ramabhadran, Pasquale: "Stratified Round Robin: A Low Complexity Packet Scheduler with Bandwidth Fairness and
 * Bounded Delay" (SIGCOMM 2003): papers/strr.md.
 */
#include "../policy.h"
#include "../lib/bits.h"
#include "../lib/ring.h"

#define POLICY_TITLE "stratified round-robin: like weights in a class, in turn inside"
#define POLICY_BASELINE
#define POLICY_COUNTS_SLICES
#define POLICY_HAS REWEIGH
#define POLICY_SHARES 1

#define STRR_CLASSES 64u

struct strr_class {
	u32 first;    /* the waiting flow that is to be served next */
	u32 n;        /* |F_k|, running flows included */
	u32 served;   /* flows served in that interval */
	u64 interval; /* slot >> k */
};

struct strr {
	POLICY_STATE;
	struct strr_class class[STRR_CLASSES]; /* by order, floor(log2 weight); k = capacity - order */
	struct links waiting;
	u32 going_on; /* the first of the flows whose turn was interrupted; in the same links */
	u64 line;     /* classes with waiting flows, a bit for each order */
	u64 pending;  /* classes with flows to be served in the current interval; right for the classes in `line` */
	u64 Phi;      /* sum of the weights */
	u32 capacity; /* log2 of the least power of two that is at least Phi */
	u64 slot;
	TASKS({ u64 D; }); /* deficit of each flow, in quanta times 2^order */
};

static inline struct strr_class *strr_class(struct strr *s, u32 o)
{
	return &s->class[o % STRR_CLASSES];
}

/* 2^-k <= phi/2^capacity < 2^-(k-1): class k is the one of order capacity - k (strr R1). */
static inline u32 strr_order(u64 phi)
{
	return floor_log2(phi);
}

/* ---- intervals ---- */

/* An interval of class k is 2^k slots (strr R2). */
static inline u64 strr_interval(const struct strr *s, u32 o)
{
	return s->slot >> ((s->capacity - o) & 63);
}

/* Pending: fewer than |F_k| were served in this interval (strr R2). */
static inline void strr_update(struct strr *s, u32 o, u32 served)
{
	struct strr_class *class = strr_class(s, o);
	u64 now = strr_interval(s, o), pending;

	class->served = (class->interval == now ? class->served : 0) + served;
	class->interval = now;
	pending = class->served < class->n;
	s->pending = (s->pending & ~(1ull << (o & 63))) | pending << (o & 63);
}

/* At slot s an interval begins for each class with k up to the number of zero bits at the end of s. */
static inline void strr_go_to(struct strr *s, u64 slot)
{
	u64 k = slot ? lowest_bit(slot) : 63;
	u64 o = s->capacity > k ? s->capacity - k : 0;

	s->slot = slot;
	s->pending |= s->line >> (o & 63) << (o & 63);
}

/* If 2^capacity becomes 2^d times as much, intervals have 2^d times as many slots, and go on (strr R4). */
static inline void strr_set_sum(struct strr *s, u64 Phi)
{
	u32 capacity = Phi ? floor_log2(2 * Phi - 1) : 0;

	if (capacity > s->capacity)
		s->slot <<= (capacity - s->capacity) & 63;
	else
		s->slot >>= (s->capacity - capacity) & 63;
	s->capacity = capacity;
	s->Phi = Phi;
}

/* ---- lines ---- */

static inline u64 strr_quantum(u32 o)
{
	return 1ull << (o & 63);
}

/* A turn that is not over goes on before all others (strr R3). */
static inline void strr_enqueue(struct strr *s, u32 id, u64 phi)
{
	u32 o = strr_order(phi);

	if (task_of(s, id)->D >= strr_quantum(o)) {
		ring_push_back(&s->waiting, &s->going_on, id);
		return;
	}
	ring_push_back(&s->waiting, &strr_class(s, o)->first, id);
	s->line |= strr_quantum(o);
	strr_update(s, o, 0);
}

static inline void strr_dequeue(struct strr *s, u32 id, u64 phi)
{
	u32 o = strr_order(phi);

	if (task_of(s, id)->D >= strr_quantum(o)) {
		ring_remove(&s->waiting, &s->going_on, id);
		return;
	}
	ring_remove(&s->waiting, &strr_class(s, o)->first, id);
	if (!strr_class(s, o)->first)
		s->line &= ~strr_quantum(o);
}

static inline void strr_count(struct strr *s, u64 phi)
{
	strr_class(s, strr_order(phi))->n++;
	strr_set_sum(s, s->Phi + phi);
}

static inline void strr_uncount(struct strr *s, u64 phi)
{
	u32 o = strr_order(phi);

	strr_class(s, o)->n--;
	strr_update(s, o, 0);
	strr_set_sum(s, s->Phi - phi);
}

/* A flow that joins is last of its class, with no deficit (strr R4). */
static inline void strr_join(struct strr *s, u32 id, u64 now, enum why why)
{
	u64 phi = weight_of(&s->tasks, id);

	task_of(s, id)->D = 0;
	strr_count(s, phi);
	strr_enqueue(s, id, phi);
}

static inline void strr_leave(struct strr *s, u32 id, u64 now, enum why why)
{
	u64 phi = weight_of(&s->tasks, id);

	if (!is_picked(&s->tasks, id))
		strr_dequeue(s, id, phi);
	strr_uncount(s, phi);
}

/* ---- selection ---- */

/* Chooses the pending class whose interval ends first: the heaviest. If no class is pending, time jumps to the next
 * interval of the heaviest class in which a flow waits (strr R2). */
static inline u32 strr_choose(struct strr *s)
{
	if (!(s->pending & s->line)) {
		u32 o = floor_log2(s->line);

		strr_go_to(s, (strr_interval(s, o) + 1) << ((s->capacity - o) & 63));
	}
	return floor_log2(s->pending & s->line);
}

/* D += 2^k phi/2^capacity, from 1 to 2, for a whole turn: its quanta are in a row (strr R3). */
static inline u32 strr_serve(struct strr *s, u32 o)
{
	u32 id = strr_class(s, o)->first;

	strr_dequeue(s, id, strr_quantum(o));
	task_of(s, id)->D += weight_of(&s->tasks, id);
	strr_update(s, o, 1);
	strr_go_to(s, s->slot + 1);
	return id;
}

static inline u32 strr_pick(struct strr *s, u32 cpu, u64 now)
{
	u32 id = ring_pop_front(&s->waiting, &s->going_on);

	if (!id && !s->line)
		return 0;
	if (!id)
		id = strr_serve(s, strr_choose(s));
	task_of(s, id)->D -= strr_quantum(strr_order(weight_of(&s->tasks, id)));
	return id;
}

/* A task that yields gives up the rest of its turn. */
static inline void strr_stop(struct strr *s, u32 id, u64 now, enum why why)
{
	u64 phi = weight_of(&s->tasks, id), one = strr_quantum(strr_order(phi));

	if (why == YIELDED)
		task_of(s, id)->D &= one - 1;
	strr_enqueue(s, id, phi);
}

/* A flow with a new weight begins without a deficit (strr R4). */
static inline void strr_reweigh(struct strr *s, u32 id, u64 w, u64 now)
{
	bool waits = !is_picked(&s->tasks, id);

	if (waits)
		strr_dequeue(s, id, weight_of(&s->tasks, id));
	strr_uncount(s, weight_of(&s->tasks, id));
	task_of(s, id)->D = 0;
	strr_count(s, w);
	if (waits)
		strr_enqueue(s, id, w);
}
