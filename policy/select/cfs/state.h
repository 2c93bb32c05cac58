/* SPDX-License-Identifier: GPL-2.0-only */
/* cfs: its parameters, and what it keeps of queues and tasks. */
#ifndef DIVVY_CFS_STATE_H
#define DIVVY_CFS_STATE_H

#include "../../policy.h"
#include "../../lib/tree.h"
#include "../../lib/vtime.h"

#define CFS_TIME_MAX (10000 * MS)

#define POLICY_PARAMS(P) \
	P(latency, TIME, "", 0, 0, CFS_TIME_MAX, \
	  "period in which each task has a turn; 0: the kernel's, 20 ms on one CPU") \
	P(granularity, TIME, "", 0, 0, CFS_TIME_MAX, \
	  "with many tasks the period is this much a task; 0: the kernel's, 4 ms on one CPU") \
	P(wakeup, TIME, "", 0, 0, CFS_TIME_MAX, \
	  "how far behind a woken task must be to preempt; 0: the kernel's, 10 ms on one CPU") \
	P(modern, SWITCH, "", 0, 0, 1, \
	  "the kernel's are those before 6.6 (6, 0.75, 1 ms), and sleep earns half as much") \
	P(percpu, SWITCH, "", 0, 0, 1, "a queue a CPU, and balancing between them; counts when the policy starts") \
	P(balance, TIME, "", 64 * MS, 0, CFS_TIME_MAX, \
	  "with percpu: how often a busy CPU looks for a busier one, at most once a period; 0: only an idle one does")

struct cfs_task {
	struct vtime vruntime; /* service over weight, ns of a nice-0 task */
	u32 queue;
	bool fresh; /* it joined as new */
};

struct cfs_queue {
	u64 load;         /* sum of the weights of its runnable tasks */
	u64 min_vruntime; /* the least vruntime of these; never decreases */
	u64 balanced;     /* when it last looked for a busier one, ns */
	u32 n;            /* runnable tasks */
	u32 first;        /* the waiting task with the least vruntime, or 0 */
};

struct cfs {
	POLICY_STATE;
	u64 scale;           /* 1 + log2 CPUs: how much the kernel's times grow with the machine */
	u64 modern_scale;    /* the same, from 8 CPUs on as for 8 */
	u32 queues;          /* 1, or as many as CPUs */
	u32 cpus;            /* of a queue: all, or 1 */
	u64 load;            /* of all queues */
	struct tree waiting; /* by queue and vruntime, equal ones in the order in which they began to wait (cfs R1) */
	u64 turns;           /* number of times that a task began to wait */
	u64 least;           /* scratch, as all below */
	u64 imbalance;       /* weight that is still to be pulled */
	u32 found;           /* a queue */
	struct tree_node after;
	struct cfs_queue queue[MAX_CPUS];
	TASKS(cfs_task);
};

static inline struct cfs_queue *cfs_queue(struct cfs *s, u32 queue)
{
	return &s->queue[queue & CPU_MASK];
}

static inline struct cfs_queue *cfs_queue_of(struct cfs *s, u32 id)
{
	return cfs_queue(s, task_of(s, id)->queue);
}

static inline u32 cfs_queue_at(const struct cfs *s, u32 cpu)
{
	return s->queues > 1 ? cpu : 0;
}

#endif
