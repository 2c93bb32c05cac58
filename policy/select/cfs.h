/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cfs: the Completely Fair Scheduler. The task with the least virtual runtime runs. Its part of a period is as large
 * as its part of the weight.
 *
 * Linux 2.6.24 (kernel/sched_fair.c), as the process-fair paper describes it (section 2, Eq. 1 and 2), and with
 * modern=1 as Linux had it before 6.6: papers/cfs.md. All CPUs share one queue; with percpu=1 each CPU has its own, and
 * load balancing moves tasks between them, as in 2.6.24's kernel/sched.c.
 * Not taken: child_runs_first (cfs D3), wakers, domains and caches (cfs D4).
 *
 * It follows kernel/sched_fair.c and kernel/sched.c of Linux 2.6.24 closely: its formulas and, with percpu, the steps
 * of its load balancing. So it has the kernel's licence, GPL-2.0-only, and no other.
 */
#include "cfs/balance.h"
#include "cfs/queues.h"
#include "cfs/times.h"

#define POLICY_TITLE "Completely Fair Scheduler: the least virtual runtime runs"
#define POLICY_LICENSE "GPL"
#define POLICY_BASELINE
#define POLICY_HAS INIT | CHARGE | REWEIGH | SLICE | PREEMPTS | PEEK | PREPARE
#define POLICY_SHARES 1
#define POLICY_LOOKS_AHEAD 1
#define POLICY_PER_CPU_IF(s) (s)->param.percpu

#define POLICY_SHOWS(V) V("virtual runtime", "ns of a nice-0 task", task_of(s, id)->vruntime.v)

/* ---- the queue of a task that joins (cfs R11) ---- */

/* Sets found to the queue with the least load. */
static NOINLINE void cfs_find_idlest(struct cfs *s)
{
	s->found = 0;
	for_cpus(queue, s->tasks.zero, s->queues)
		if (cfs_queue(s, queue)->load < cfs_queue(s, s->found)->load)
			s->found = queue;
}

/* The queue of the CPU where it ran last; its own, if it never ran */
static inline u32 cfs_last(const struct cfs *s, u32 id)
{
	u32 cpu = cpu_of(&s->tasks, id);

	return cpu < s->tasks.ncpus ? cfs_queue_at(s, cpu) : s->task[id & POOL_MASK].queue;
}

/* A new task goes to the queue with the least load. A woken one goes to the queue of the CPU where it ran, but if that
 * is busy and another queue is empty, to the empty one. */
static inline u32 cfs_place(struct cfs *s, u32 id, bool fresh)
{
	u32 last = cfs_last(s, id);

	cfs_find_idlest(s);
	return fresh || (cfs_queue(s, last)->n && !cfs_queue(s, s->found)->n) ? s->found : last;
}

/* ---- the contract ---- */

static inline void cfs_init(struct cfs *s)
{
	u32 log = 31 - __builtin_clz(s->tasks.ncpus | 1);

	s->scale = 1 + log;
	s->modern_scale = 1 + (log < 3 ? log : 3);
	s->queues = s->param.percpu ? s->tasks.ncpus : 1;
	s->cpus = s->tasks.ncpus / s->queues;
}

/* New: min_vruntime + vslice. Woken: max(own, min_vruntime - latency), half of it if modern (cfs R6). */
static inline void cfs_join(struct cfs *s, u32 id, u64 now, enum why why)
{
	struct cfs_task *t = task_of(s, id);
	u64 credit = cfs_latency(s) >> s->param.modern, v;
	u32 queue = cfs_place(s, id, why == NEW);
	struct cfs_queue *q = cfs_queue(s, queue);

	if (queue != t->queue)
		cfs_update_min_vruntime(s, t->queue, now);
	cfs_update_min_vruntime(s, queue, now);
	v = cfs_relative(s, id, queue);
	cfs_enter(s, id, queue);
	t->fresh = why == NEW;
	if (t->fresh)
		t->vruntime = (struct vtime){ .v = q->min_vruntime + cfs_debit(s, q, weight_of(&s->tasks, id)) };
	else if (vtime_before(v, q->min_vruntime - credit))
		t->vruntime = (struct vtime){ .v = q->min_vruntime - credit };
	else
		t->vruntime.v = v;
	cfs_wait(s, id);
}

static inline void cfs_leave(struct cfs *s, u32 id, u64 now, enum why why)
{
	cfs_take(s, id);
	cfs_exit(s, id);
}

/* The least vruntime (cfs R1). With percpu, this CPU may not run any that waited in its queue: then of another queue. */
static inline u32 cfs_peek(struct cfs *s, u32 cpu, u64 now)
{
	u32 queue = cfs_queue_at(s, cpu);

	s->found = queue;
	if (s->queues > 1 && !cfs_queue(s, queue)->first)
		cfs_find_busiest(s, queue);
	return cfs_queue(s, s->found)->first;
}

static inline void cfs_before_peek(struct cfs *s, u32 cpu, u64 now)
{
	cfs_balance(s, cfs_queue_at(s, cpu), now);
}

/* vruntime += service / w (cfs R2; Eq. 2) */
static inline void cfs_charge(struct cfs *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(&task_of(s, id)->vruntime, ran, weight_of(&s->tasks, id));
}

/* A yield only ends the slice (cfs R9). If the task may not run on the CPU that picked it, and ran on another CPU, it
 * goes to the queue of the other CPU (cfs D4). */
static inline void cfs_stop(struct cfs *s, u32 id, u64 now, enum why why)
{
	u32 queue = cfs_last(s, id);

	if (task_of(s, id)->queue != queue) {
		cfs_update_min_vruntime(s, task_of(s, id)->queue, now);
		cfs_update_min_vruntime(s, queue, now);
		cfs_move(s, id, queue);
	}
	cfs_wait(s, id);
}

/* vruntime stays as it is (cfs R9). */
static inline void cfs_reweigh(struct cfs *s, u32 id, u64 w, u64 now)
{
	u64 more = w - weight_of(&s->tasks, id);

	cfs_queue_of(s, id)->load += more;
	s->load += more;
	vtime_reweigh(&task_of(s, id)->vruntime);
}

static inline u64 cfs_slice(struct cfs *s, u32 id)
{
	return cfs_part(s, cfs_queue_of(s, id), weight_of(&s->tasks, id));
}

/* A woken task preempts one that is ahead by more than the granularity over its weight; if modern, over the woken
 * one's weight (cfs R7). A new task makes the CPU choose again; if modern, it is treated as a woken one (cfs R8). Both
 * hold only on the CPUs of the task's queue. */
static inline bool cfs_preempts(struct cfs *s, u32 woken, u32 running, u64 now)
{
	u64 ahead = task_of(s, running)->vruntime.v;
	u64 w = weight_of(&s->tasks, s->param.modern ? woken : running);

	if (task_of(s, woken)->queue != task_of(s, running)->queue)
		return false;
	if (task_of(s, woken)->fresh && !s->param.modern)
		return vtime_before(task_of(s, cfs_queue_of(s, woken)->first)->vruntime.v, ahead);
	return vtime_before(task_of(s, woken)->vruntime.v + cfs_wakeup(s) * WEIGHT_NICE_0 / w, ahead);
}
