/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * srpt: shortest remaining processing time. The job that will be done first runs.
 *
 * Schrage: "A Proof of the Optimality of the Shortest Remaining Processing Time Discipline" (Operations Research 16(3),
 * 1968). It must know how long jobs will run, so it is a reference: papers/srpt.md.
 */
#include "../policy.h"
#include "../lib/heap.h"
#include "../lib/work.h"

#define POLICY_TITLE "shortest remaining processing time: knows the future; a reference"
#define POLICY_BASELINE
#define POLICY_SIMULATOR_ONLY \
	"it has to know how long a task will run, which no kernel does; las is what can be done without"
#define POLICY_HAS CHARGE | SLICE | PREEMPTS | BRING | PEEK | KEY

struct srpt {
	POLICY_STATE;
	struct heap waiting; /* by R */
	TASKS({ u64 R; });   /* remaining work of each job, ns */
};

/* Called before a task joins, and while it runs if its program goes on to other work without a pause (srpt R2). */
static inline void srpt_bring(struct srpt *s, u32 id, u64 work)
{
	work_bring(&task_of(s, id)->R, work);
}

static inline void srpt_join(struct srpt *s, u32 id, u64 now, enum why why)
{
	heap_insert(&s->waiting, id, task_of(s, id)->R);
}

/* A task that exits before its work is done leaves none of it to the next task with its id. */
static inline void srpt_leave(struct srpt *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
	if (why == EXITED)
		task_of(s, id)->R = 0;
}

/* The job with the least R runs; equal ones run in the order in which they began to wait (srpt R1). */
static inline u32 srpt_peek(struct srpt *s, u32 cpu, u64 now)
{
	return heap_first(&s->waiting);
}

static inline void srpt_take(struct srpt *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

static inline void srpt_charge(struct srpt *s, u32 id, u64 ran, u64 now)
{
	work_charge(&task_of(s, id)->R, ran);
}

static inline void srpt_stop(struct srpt *s, u32 id, u64 now, enum why why)
{
	heap_insert(&s->waiting, id, task_of(s, id)->R);
}

/* A slice has no end: while a job runs, only its own R falls. */
static inline u64 srpt_slice(const struct srpt *s, u32 id)
{
	return SLICE_INF;
}

/* A task that arrives preempts one that has more left (srpt R1). */
static inline bool srpt_preempts(struct srpt *s, u32 woken, u32 running, u64 now)
{
	return task_of(s, woken)->R < task_of(s, running)->R;
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline u64 srpt_key(struct srpt *s, u32 id)
{
	return task_of(s, id)->R;
}

static inline void srpt_detach(struct srpt *s, u32 id)
{
	heap_remove(&s->waiting, id);
}
