/* SPDX-License-Identifier: GPL-2.0-only */
/* cfs: with percpu, load balancing between the queues (cfs R13, R14). */
#ifndef DIVVY_CFS_BALANCE_H
#define DIVVY_CFS_BALANCE_H

#include "queues.h"
#include "times.h"

/* Sets found to the other queue with the greatest load in which somebody waits; if there is none, to the own queue. */
static NOINLINE void cfs_find_busiest(struct cfs *s, u32 own)
{
	s->found = own;
	for_cpus(queue, s->tasks.zero, s->queues)
		if (queue != own && cfs_queue(s, queue)->first &&
		    (s->found == own || cfs_queue(s, queue)->load > cfs_queue(s, s->found)->load))
			s->found = queue;
}

/* The weight to be pulled: the busiest load above the mean or the own load below it, the lesser of these. If that is
 * less than a mean task, one task is pulled, provided that the difference of the loads plus nice 0's weight is at least
 * `tasks` of these (cfs R14). */
static NOINLINE u64 cfs_imbalance(const struct cfs *s, const struct cfs_queue *own, const struct cfs_queue *busiest)
{
	u64 mean = s->load / s->queues, task = busiest->load / busiest->n;
	u64 over = busiest->load - mean, under = mean - own->load;
	u64 most = over < under ? over : under;
	u64 tasks = own->n && task > own->load / own->n ? 1 : 2;

	if (own->load >= mean || busiest->load <= mean || 4 * busiest->load <= 5 * own->load)
		return 0;
	if (most >= task)
		return most;
	return busiest->load - own->load + WEIGHT_NICE_0 >= tasks * task ? task : 0;
}

static inline void cfs_pull_one(struct cfs *s, u32 id, u32 own)
{
	u64 w = weight_of(&s->tasks, id);

	s->imbalance -= w < s->imbalance ? w : s->imbalance;
	cfs_take(s, id);
	cfs_move(s, id, own);
	cfs_wait(s, id);
}

/* Pulls tasks from the least vruntime on. A task stays if half of its weight exceeds the rest of the imbalance plus
 * nice 0's weight (cfs R14). */
static NOINLINE void cfs_pull(struct cfs *s, u32 own)
{
	s->after = (struct tree_node){ .major = cfs_major(s->found) - 1 };
	while (s->imbalance && can_loop) {
		u32 id = cfs_next(s, s->found);

		if (!id)
			return;
		s->after = *tree_node(&s->waiting, id);
		if (weight_of(&s->tasks, id) / 2 <= s->imbalance + WEIGHT_NICE_0)
			cfs_pull_one(s, id, own);
	}
}

/* Balances now and then (cfs R14), and whenever nobody waits here; then it pulls at least one task (cfs R13). */
static NOINLINE void cfs_balance(struct cfs *s, u32 own, u64 now)
{
	struct cfs_queue *q = cfs_queue(s, own);
	u64 interval = s->param.balance, period = cfs_period(s, q);

	if (q->first && (!interval || now - q->balanced < (interval > period ? interval : period)))
		return;
	q->balanced = now;
	cfs_find_busiest(s, own);
	if (s->found == own)
		return;
	cfs_update_min_vruntime(s, s->found, now);
	cfs_update_min_vruntime(s, own, now);
	s->imbalance = cfs_imbalance(s, q, cfs_queue(s, s->found));
	cfs_pull(s, own);
	if (!q->first)
		cfs_pull_one(s, cfs_queue(s, s->found)->first, own);
}

#endif
