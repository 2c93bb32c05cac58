/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hrrn: highest response ratio next, without preemption. Of the jobs that wait, that one is begun whose response time would be the
 * greatest multiple of its length.
 *
 * Brinch Hansen: "An Analysis of Response Ratio Scheduling" (IFIP Congress 71). It must know how long jobs are, so it is a reference:
 * papers/hrrn.md.
 */
#include "../policy.h"
#include "../lib/bag.h"
#include "../lib/work.h"

#define POLICY_TITLE "highest response ratio next: knows the future; a reference"
#define POLICY_BASELINE
#define POLICY_SIMULATOR_ONLY "it has to know how long a job is, which no kernel does; las is what can be done without"
#define POLICY_HAS CHARGE | SLICE | BRING

struct hrrn_task {
	u64 arrived; /* ns */
	u64 number;  /* of its arrival */
	u64 S;       /* the job's length, ns; 0 once it has begun: nobody comes before it */
	u64 rest;    /* what is left of it, ns */
};

struct hrrn {
	POLICY_STATE;
	struct bag waiting;
	u64 arrivals; /* so far */
	u32 at, best; /* scratch of hrrn_seek */
	TASKS(hrrn_task);
};

/* Called before a task joins, and while it runs if its program goes on to other work without a pause (hrrn R3). */
static inline void hrrn_bring(struct hrrn *s, u32 id, u64 work)
{
	work_bring(&task_of(s, id)->rest, work);
}

static inline void hrrn_wait(struct hrrn *s, u32 id, u64 now)
{
	task_of(s, id)->arrived = now;
	task_of(s, id)->number = s->arrivals++;
	task_of(s, id)->S = task_of(s, id)->rest;
	bag_add(&s->waiting, id);
}

static inline void hrrn_join(struct hrrn *s, u32 id, u64 now, enum why why)
{
	hrrn_wait(s, id, now);
}

/* A task that exits before its work is done leaves none of it to the next task with its id. */
static inline void hrrn_leave(struct hrrn *s, u32 id, u64 now, enum why why)
{
	if (!is_picked(&s->tasks, id))
		bag_remove(&s->waiting, id);
	if (why == EXITED)
		task_of(s, id)->rest = 0;
}

/* (W + S) / S, so W / S: that of a is greater than that of b. A length of 0 is the greatest ratio, also after no wait (hrrn R1). */
static inline bool hrrn_before(const struct hrrn_task *a, const struct hrrn_task *b, u64 now)
{
	u64 wa = now - a->arrived, wb = now - b->arrived;

	if (!a->S || !b->S)
		return a->S || b->S ? !a->S : a->number < b->number;
	if (wide_greater(wa, b->S, wb, a->S))
		return true;
	return !wide_greater(wb, a->S, wa, b->S) && a->number < b->number;
}

static NOINLINE void hrrn_seek(struct hrrn *s, u64 now)
{
	while (s->at < s->waiting.n && can_loop) {
		u32 id = s->waiting.id[s->at & POOL_MASK];

		if (!s->best || hrrn_before(task_of(s, id), task_of(s, s->best), now))
			s->best = id;
		s->at++;
	}
}

/* The greatest ratio at this moment; equal ones in the order in which they came (hrrn R1). */
static inline u32 hrrn_pick(struct hrrn *s, u32 cpu, u64 now)
{
	s->at = s->best = s->tasks.zero;
	hrrn_seek(s, now);
	if (s->best)
		bag_remove(&s->waiting, s->best);
	return s->best;
}

static inline void hrrn_charge(struct hrrn *s, u32 id, u64 ran, u64 now)
{
	work_charge(&task_of(s, id)->rest, ran);
}

/* A job that has begun comes before all that have not (hrrn R2), unless it yielded: then what is left of it is a job that comes now. */
static inline void hrrn_stop(struct hrrn *s, u32 id, u64 now, enum why why)
{
	if (why == YIELDED) {
		hrrn_wait(s, id, now);
		return;
	}
	task_of(s, id)->S = 0;
	bag_add(&s->waiting, id);
}

/* A slice has no end (hrrn R2). */
static inline u64 hrrn_slice(const struct hrrn *s, u32 id)
{
	return SLICE_INF;
}
