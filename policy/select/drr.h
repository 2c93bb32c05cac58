/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * drr: deficit round-robin. In each round a flow's deficit grows by its quantum. The flow runs until it has used up its
 * deficit.
 *
 * Shreedhar, Varghese: "Efficient Fair Queueing Using Deficit Round-Robin" (SIGCOMM 1995), with CPU time for bytes:
 * papers/drr.md.
 */
#include "../policy.h"
#include "../lib/lightest.h"
#include "../lib/ring.h"
#include "../lib/wide.h"

#define POLICY_TITLE "deficit round-robin: rounds by weight, what was overrun is owed"
#define POLICY_BASELINE
#define POLICY_HAS CHARGE | REWEIGH | SLICE
#define POLICY_SHARES 1

#define POLICY_PARAMS(P) \
	P(unit, RATIO, "", 0, 0, RATIO_ONE << 30, \
	  "the weight of one quantum, nice 0 being 1024; 0: the power of two next below the least weight (drr D2)")

#define POLICY_SHOWS(V) V("deficit", "ns", task_of(s, id)->D)

#define DRR_Q_MAX (1ull << 62)

struct drr {
	POLICY_STATE;
	struct links active; /* the waiting flows of the active list */
	u32 first;           /* of these */
	struct lightest lightest;
	TASKS({ s64 D; }); /* deficit: time that the flow may run, ns; it owes a negative one */
};

/* Q_i = quantum phi_i/phi_min, ns, rounded down; at least one quantum (drr R1) */
static inline s64 drr_quantum(struct drr *s, u32 id)
{
	u64 unit = lightest_unit(&s->lightest, s->param.unit), w = weight_of(&s->tasks, id);
	u64 Q = wide_mul_div(&s->division, s->tasks.quantum, w > unit ? w : unit, unit);

	return Q < DRR_Q_MAX ? Q : DRR_Q_MAX;
}

/* A flow that joins goes to the end of the active list. A new flow has no deficit (drr R3). */
static inline void drr_join(struct drr *s, u32 id, u64 now, enum why why)
{
	lightest_add(&s->lightest, weight_of(&s->tasks, id));
	if (why == NEW)
		task_of(s, id)->D = 0;
	ring_push_back(&s->active, &s->first, id);
}

/* A flow with nothing to run has no deficit, but it keeps its debt (drr R3). */
static inline void drr_leave(struct drr *s, u32 id, u64 now, enum why why)
{
	lightest_remove(&s->lightest, weight_of(&s->tasks, id));
	if (task_of(s, id)->D > 0)
		task_of(s, id)->D = 0;
	if (!is_picked(&s->tasks, id))
		ring_remove(&s->active, &s->first, id);
}

/* D_i += Q_i when its turn comes (drr R1). A debt of a turn or more is cut, or it would have no turn (drr D1). */
static inline u32 drr_pick(struct drr *s, u32 cpu, u64 now)
{
	u32 id = ring_pop_front(&s->active, &s->first);
	s64 *D = &task_of(s, id)->D, Q;

	if (!id || *D > 0)
		return id;
	Q = drr_quantum(s, id);
	*D = *D > -Q ? *D + Q : 1;
	return id;
}

/* D_i -= time that it ran (drr R2) */
static inline void drr_charge(struct drr *s, u32 id, u64 ran, u64 now)
{
	s64 *D = &task_of(s, id)->D;

	*D = ran < DRR_Q_MAX && *D > -(s64)DRR_Q_MAX ? *D - (s64)ran : -(s64)DRR_Q_MAX;
}

/* Its turn goes on while it has a deficit (drr R2). A task that yields gives up its deficit (drr R4). */
static inline void drr_stop(struct drr *s, u32 id, u64 now, enum why why)
{
	s64 *D = &task_of(s, id)->D;

	if (why == YIELDED && *D > 0)
		*D = 0;
	if (*D > 0)
		ring_push_front(&s->active, &s->first, id);
	else
		ring_push_back(&s->active, &s->first, id);
}

/* A new weight counts from the next turn on (drr R1). */
static inline void drr_reweigh(struct drr *s, u32 id, u64 w, u64 now)
{
	lightest_remove(&s->lightest, weight_of(&s->tasks, id));
	lightest_add(&s->lightest, w);
}

/* A slice is as long as the deficit. */
static inline u64 drr_slice(const struct drr *s, u32 id)
{
	return task_of(s, id)->D;
}
