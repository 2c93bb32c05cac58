/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * plcfs: preemptive last come, first served. The newest job runs until it ends, then the one that it interrupted.
 *
 * Kleinrock: "Queueing Systems, Volume II" (1976), and every textbook since. It is PBS with alpha just below 0:
 * papers/plcfs.md.
 */
#include "../policy.h"
#include "../lib/heap.h"

#define POLICY_TITLE "preemptive last come, first served: the newest, until it blocks"
#define POLICY_BASELINE
#define POLICY_HAS SLICE | PREEMPTS | PEEK | KEY

struct plcfs {
	POLICY_STATE;
	struct heap waiting;     /* jobs, the newest first */
	s64 arrivals;            /* so far */
	s64 gave_way;            /* times that a job did, negative */
	TASKS({ s64 arrived; }); /* the number of each job's arrival, negative if it gave way */
};

/* Its place among all: the newest is first. */
static inline u64 plcfs_key(struct plcfs *s, u32 id)
{
	return -task_of(s, id)->arrived;
}

static inline void plcfs_wait(struct plcfs *s, u32 id)
{
	heap_insert(&s->waiting, id, plcfs_key(s, id));
}

static inline void plcfs_join(struct plcfs *s, u32 id, u64 now, enum why why)
{
	task_of(s, id)->arrived = ++s->arrivals;
	plcfs_wait(s, id);
}

static inline void plcfs_leave(struct plcfs *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
}

/* The newest runs (plcfs R1). */
static inline u32 plcfs_peek(struct plcfs *s, u32 cpu, u64 now)
{
	return heap_first(&s->waiting);
}

static inline void plcfs_take(struct plcfs *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

/* It keeps its place (plcfs R1), unless it gave way itself: then it is the oldest (plcfs R3). */
static inline void plcfs_stop(struct plcfs *s, u32 id, u64 now, enum why why)
{
	if (why == YIELDED)
		task_of(s, id)->arrived = --s->gave_way;
	plcfs_wait(s, id);
}

/* With one CPU a turn needs no end. With more the newest may not have found the CPU of the oldest (plcfs D1): the end of a
 * quantum puts that right. */
static inline u64 plcfs_slice(const struct plcfs *s, u32 id)
{
	return s->tasks.ncpus > 1 ? s->tasks.quantum : SLICE_INF;
}

/* A task that arrives interrupts an older one (plcfs R2). */
static inline bool plcfs_preempts(struct plcfs *s, u32 woken, u32 running, u64 now)
{
	return task_of(s, woken)->arrived > task_of(s, running)->arrived;
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline void plcfs_detach(struct plcfs *s, u32 id)
{
	heap_remove(&s->waiting, id);
}
