/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sjf: shortest job first, without preemption. Of the jobs that wait the shortest is begun, and keeps the CPU until it blocks.
 *
 * Cobham: "Priority Assignment in Waiting Line Problems" (Operations Research 2(1), 1954), and every textbook since. It must know how
 * long jobs are, so it is a reference: papers/sjf.md.
 */
#include "../policy.h"
#include "../lib/heap.h"
#include "../lib/work.h"

#define POLICY_TITLE "shortest job first, not preemptive: knows the future; a reference"
#define POLICY_BASELINE
#define POLICY_SIMULATOR_ONLY "it has to know how long a job is, which no kernel does; las is what can be done without"
#define POLICY_HAS CHARGE | SLICE | BRING | PEEK | KEY

struct sjf {
	POLICY_STATE;
	struct heap waiting;     /* by key */
	TASKS({ u64 S, rest; }); /* of each job, ns: its length; 0 once it has begun, and what is left of it */
};

/* Called before a task joins, and while it runs if its program goes on to other work without a pause (sjf R3). */
static inline void sjf_bring(struct sjf *s, u32 id, u64 work)
{
	work_bring(&task_of(s, id)->rest, work);
}

static inline void sjf_join(struct sjf *s, u32 id, u64 now, enum why why)
{
	task_of(s, id)->S = task_of(s, id)->rest;
	heap_insert(&s->waiting, id, task_of(s, id)->S);
}

/* A task that exits before its work is done leaves none of it to the next task with its id. */
static inline void sjf_leave(struct sjf *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
	if (why == EXITED)
		task_of(s, id)->rest = 0;
}

/* The shortest job runs; equal ones run in the order in which they came (sjf R1). */
static inline u32 sjf_peek(struct sjf *s, u32 cpu, u64 now)
{
	return heap_first(&s->waiting);
}

static inline void sjf_take(struct sjf *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

static inline void sjf_charge(struct sjf *s, u32 id, u64 ran, u64 now)
{
	work_charge(&task_of(s, id)->rest, ran);
}

/* A job that has begun comes before all that have not (sjf R2), unless it yielded: then what is left of it is a job like others. */
static inline void sjf_stop(struct sjf *s, u32 id, u64 now, enum why why)
{
	task_of(s, id)->S = why == YIELDED ? task_of(s, id)->rest : 0;
	heap_insert(&s->waiting, id, task_of(s, id)->S);
}

/* A slice has no end (sjf R2). */
static inline u64 sjf_slice(const struct sjf *s, u32 id)
{
	return SLICE_INF;
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline u64 sjf_key(struct sjf *s, u32 id)
{
	return task_of(s, id)->S;
}

static inline void sjf_detach(struct sjf *s, u32 id)
{
	heap_remove(&s->waiting, id);
}
