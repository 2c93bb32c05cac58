/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * wrr: weighted round-robin. In each round a client runs as many quanta in a row as its weight says.
 *
 * Nagle: "On Packet Switches with Infinite Storage" (RFC 970, 1985) serves flows in turn. The GR3 paper (section 5.1)
 * compares with the form that has weights: papers/wrr.md.
 */
#include "../policy.h"
#include "../lib/lightest.h"
#include "../lib/ring.h"

#define POLICY_TITLE "weighted round-robin: as many quanta in a row as the weight says"
#define POLICY_BASELINE
#define POLICY_COUNTS_SLICES
#define POLICY_HAS REWEIGH
#define POLICY_SHARES 1

#define POLICY_PARAMS(P) \
	P(unit, RATIO, "", 0, 0, RATIO_ONE << 30, \
	  "the weight of one quantum, nice 0 being 1024; 0: the power of two next below the least weight (wrr D1)")

struct wrr {
	POLICY_STATE;
	struct links waiting;
	u32 first;                /* the first waiting task */
	struct lightest lightest; /* the weight of one quantum */
	TASKS({ u64 D; });        /* quanta left of the turn, times the weight of one; a fraction is carried */
};

static inline u64 wrr_unit(const struct wrr *s)
{
	return lightest_unit(&s->lightest, s->param.unit);
}

/* A task that joins is last in the run queue, with a whole turn to come (wrr R2). */
static inline void wrr_join(struct wrr *s, u32 id, u64 now, enum why why)
{
	lightest_add(&s->lightest, weight_of(&s->tasks, id));
	task_of(s, id)->D = 0;
	ring_push_back(&s->waiting, &s->first, id);
}

static inline void wrr_leave(struct wrr *s, u32 id, u64 now, enum why why)
{
	lightest_remove(&s->lightest, weight_of(&s->tasks, id));
	if (!is_picked(&s->tasks, id))
		ring_remove(&s->waiting, &s->first, id);
}

/* D += phi at the beginning of a turn, at least one quantum. Each quantum takes one unit of D (wrr R1). */
static inline u32 wrr_pick(struct wrr *s, u32 cpu, u64 now)
{
	u32 id = ring_pop_front(&s->waiting, &s->first);
	u64 unit = wrr_unit(s), w = weight_of(&s->tasks, id), *D = &task_of(s, id)->D;

	if (!id)
		return 0;
	if (*D < unit)
		*D += w > unit ? w : unit;
	*D -= unit;
	return id;
}

/* A task is first while a quantum is left, then last (wrr R1). A task that yields gives up the rest (wrr R3). */
static inline void wrr_stop(struct wrr *s, u32 id, u64 now, enum why why)
{
	u64 *D = &task_of(s, id)->D;

	if (why == YIELDED)
		*D = 0;
	if (*D >= wrr_unit(s))
		ring_push_front(&s->waiting, &s->first, id);
	else
		ring_push_back(&s->waiting, &s->first, id);
}

/* The task keeps the rest of its turn, up to the new weight (wrr R4). */
static inline void wrr_reweigh(struct wrr *s, u32 id, u64 w, u64 now)
{
	u64 *D = &task_of(s, id)->D;

	lightest_remove(&s->lightest, weight_of(&s->tasks, id));
	lightest_add(&s->lightest, w);
	if (*D > w)
		*D = w;
}
