/* SPDX-License-Identifier: GPL-2.0-only */
/* cfs: the queues, one for all CPUs or one a CPU. */
#ifndef DIVVY_CFS_QUEUES_H
#define DIVVY_CFS_QUEUES_H

#include "../../lib/cpus.h"
#include "state.h"

/* ---- min_vruntime (cfs R5) ---- */

/* vruntime now, with the service that a running task received and was not charged for */
static inline u64 cfs_vruntime(struct cfs *s, u32 id, u64 now)
{
	struct vtime v = task_of(s, id)->vruntime;

	vtime_advance(&v, uncharged(&s->tasks, id, now), weight_of(&s->tasks, id));
	return v.v;
}

/* Lowers `least` to the least vruntime of a queue's running tasks. */
static NOINLINE void cfs_least_running(struct cfs *s, u32 queue, u64 now)
{
	for_cpus(cpu, queue + s->tasks.zero, queue + s->cpus) {
		u32 id = picked_on(&s->tasks, cpu);

		if (id && task_of(s, id)->queue == queue && vtime_before(cfs_vruntime(s, id, now), s->least))
			s->least = cfs_vruntime(s, id, now);
	}
}

/* The kernel does this all the time. Between two joins the least never decreases, so once before each is enough. */
static NOINLINE void cfs_update_min_vruntime(struct cfs *s, u32 queue, u64 now)
{
	struct cfs_queue *q = cfs_queue(s, queue);
	u64 none = q->min_vruntime + (1ull << 62);

	s->least = q->first ? task_of(s, q->first)->vruntime.v : none;
	cfs_least_running(s, queue, now);
	if (s->least != none)
		q->min_vruntime = vtime_max(q->min_vruntime, s->least);
}

/* ---- queues ---- */

/* Odd, so that there are keys between those of two queues */
static inline u64 cfs_major(u32 queue)
{
	return 2ull * queue + 1;
}

static NOINLINE void cfs_wait(struct cfs *s, u32 id)
{
	struct cfs_task *t = task_of(s, id);
	struct cfs_queue *q = cfs_queue(s, t->queue);

	tree_insert(&s->waiting, id, cfs_major(t->queue), t->vruntime.v, s->turns++);
	if (!q->first || vtime_before(t->vruntime.v, task_of(s, q->first)->vruntime.v))
		q->first = id;
}

/* The first of a queue behind the key `after`, or 0 */
static inline u32 cfs_next(struct cfs *s, u32 queue)
{
	u32 id = tree_after(&s->waiting, &s->after);

	return task_of(s, id)->queue == queue ? id : 0;
}

/* Removes the task from those that wait, if it is there. */
static NOINLINE void cfs_take(struct cfs *s, u32 id)
{
	u32 queue = task_of(s, id)->queue;

	s->after = *tree_node(&s->waiting, id);
	tree_remove(&s->waiting, id);
	if (cfs_queue(s, queue)->first == id)
		cfs_queue(s, queue)->first = cfs_next(s, queue);
}

static inline void cfs_enter(struct cfs *s, u32 id, u32 queue)
{
	struct cfs_queue *q = cfs_queue(s, queue);
	u64 w = weight_of(&s->tasks, id);

	task_of(s, id)->queue = queue;
	q->n++;
	q->load += w;
	s->load += w;
}

static inline void cfs_exit(struct cfs *s, u32 id)
{
	struct cfs_queue *q = cfs_queue_of(s, id);
	u64 w = weight_of(&s->tasks, id);

	q->n--;
	q->load -= w;
	s->load -= w;
	if (!q->n)
		q->min_vruntime = vtime_max(q->min_vruntime, task_of(s, id)->vruntime.v);
}

/* vruntime - min_vruntime here + min_vruntime there: it is as far ahead in the other queue (cfs R12). */
static inline u64 cfs_relative(struct cfs *s, u32 id, u32 queue)
{
	return task_of(s, id)->vruntime.v - cfs_queue_of(s, id)->min_vruntime + cfs_queue(s, queue)->min_vruntime;
}

/* A runnable task that does not wait goes to another queue. */
static NOINLINE void cfs_move(struct cfs *s, u32 id, u32 queue)
{
	u64 v = cfs_relative(s, id, queue);

	cfs_exit(s, id);
	task_of(s, id)->vruntime.v = v;
	cfs_enter(s, id, queue);
}

#endif
