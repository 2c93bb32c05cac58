/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * las: least attained service, or foreground-background. The job that got the least service so far runs.
 *
 * Schrage: "The Queue M/G/1 with Feedback to Lower Priority Queues" (Management Science 13(7), 1967). It is PBS with
 * alpha = infinity, on equal weights: papers/las.md.
 */
#include "../policy.h"
#include "../lib/heap.h"

#define POLICY_TITLE "least attained service: who got the least so far; ignores weights"
#define POLICY_BASELINE
#define POLICY_HAS CHARGE | PREEMPTS | PEEK | KEY

#define POLICY_PARAMS(P) \
	P(session, SWITCH, "", 1, 0, 1, \
	  "a task that wakes is a new job, of no service so far; 0: all its service counts")

#define POLICY_SHOWS(V) V("attained service", "ns", task_of(s, id)->S)

struct las_task {
	u64 S;       /* attained service of its job, ns */
	u32 arrived; /* the number of its job's arrival; compared by signed difference */
};

struct las {
	POLICY_STATE;
	struct heap waiting; /* by service, equal ones by arrival */
	u32 arrivals;        /* so far */
	TASKS(las_task);
};

static inline void las_wait(struct las *s, u32 id)
{
	heap_insert_ranked(&s->waiting, id, task_of(s, id)->S, task_of(s, id)->arrived);
}

/* A job that arrives has no service (las R2). */
static inline void las_join(struct las *s, u32 id, u64 now, enum why why)
{
	if (why == NEW || s->param.session)
		*task_of(s, id) = (struct las_task){ .arrived = s->arrivals++ };
	las_wait(s, id);
}

static inline void las_leave(struct las *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
}

/* The least S runs, of equal ones the job that arrived first (las R1). */
static inline u32 las_peek(struct las *s, u32 cpu, u64 now)
{
	return heap_first(&s->waiting);
}

static inline void las_take(struct las *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

static inline void las_charge(struct las *s, u32 id, u64 ran, u64 now)
{
	task_of(s, id)->S += ran;
}

static inline void las_stop(struct las *s, u32 id, u64 now, enum why why)
{
	las_wait(s, id);
}

/* A task that becomes runnable takes the CPU from one that it precedes (las R3). */
static inline bool las_preempts(struct las *s, u32 woken, u32 running, u64 now)
{
	const struct las_task *t = task_of(s, woken), *u = task_of(s, running);

	return t->S < u->S || (t->S == u->S && (int)(t->arrived - u->arrived) < 0);
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline u64 las_key(struct las *s, u32 id)
{
	return task_of(s, id)->S;
}

static inline void las_detach(struct las *s, u32 id)
{
	heap_remove(&s->waiting, id);
}
