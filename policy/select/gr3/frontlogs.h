/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* gr3: frontlogs of GR3MP, selections of clients that ran already, and the queues of CPUs to work them off. */
#ifndef DIVVY_GR3_FRONTLOGS_H
#define DIVVY_GR3_FRONTLOGS_H

#include "../../lib/cpus.h"
#include "state.h"

/* Its frontlog is this CPU's to work off. */
static inline void gr3_place_frontlog(struct gr3 *s, u32 id, u32 cpu)
{
	s->F_cpu[cpu & CPU_MASK] += task_of(s, id)->F;
	task_of(s, id)->home = 1 + cpu;
}

static inline void gr3_queue_frontlog(struct gr3 *s, u32 id, u32 cpu)
{
	ring_push_back(&s->fronts, &s->front[cpu & CPU_MASK], id);
	gr3_place_frontlog(s, id, cpu);
}

/* Its CPU works it off now, or it is lost. */
static inline void gr3_displace_frontlog(struct gr3 *s, u32 id)
{
	struct gr3_task *t = task_of(s, id);

	s->F_cpu[(t->home - 1) & CPU_MASK] -= t->F;
	t->home = 0;
}

/* At most `frontlog` in total (gr3 D2) */
static inline void gr3_add_frontlog(struct gr3 *s, u32 id, u64 quanta)
{
	struct gr3_task *t = task_of(s, id);
	u64 left = t->F < (u64)s->param.frontlog ? (u64)s->param.frontlog - t->F : 0;

	quanta = quanta < left ? quanta : left;
	t->F += quanta;
	s->F_T += quanta;
}

/* The CPU with the least frontlog, its running client's and its queue's, into found. */
static NOINLINE void gr3_find_least_frontlog(struct gr3 *s)
{
	u64 least = ~0ull;

	for_each_cpu(cpu, s) {
		u32 running = picked_on(&s->tasks, cpu);
		u64 F = s->F_cpu[cpu & CPU_MASK] + (running ? task_of(s, running)->F : 0);

		if (F < least) {
			least = F;
			s->found = cpu;
		}
	}
}

/* F_C = floor(F_T phi_C / Phi_T): a client that comes need not wait for all frontlogs to be worked off (gr3 R12). */
static inline void gr3_share_frontlog(struct gr3 *s, u32 id)
{
	u64 F = wide_mul_div(&s->division, s->F_T, task_of(s, id)->phi, s->phi_t);

	if (!F)
		return;
	gr3_add_frontlog(s, id, F);
	gr3_find_least_frontlog(s);
	gr3_queue_frontlog(s, id, s->found);
}

static inline void gr3_dequeue_frontlog(struct gr3 *s, u32 id)
{
	struct gr3_task *t = task_of(s, id);

	if (!t->home)
		return;
	ring_remove(&s->fronts, &s->front[(t->home - 1) & CPU_MASK], id);
	gr3_displace_frontlog(s, id);
}

/* It blocks: its frontlog stays with its CPU, which cannot work it off meanwhile (gr3 R12). */
static inline void gr3_keep_frontlog(struct gr3 *s, u32 id)
{
	struct gr3_task *t = task_of(s, id);
	u32 cpu = cpu_of(&s->tasks, id);

	if (t->home)
		ring_remove(&s->fronts, &s->front[(t->home - 1) & CPU_MASK], id);
	else if (t->F)
		gr3_place_frontlog(s, id, cpu < s->tasks.ncpus ? cpu : 0);
}

/* It is back: behind the others of its CPU. */
static inline void gr3_return_frontlog(struct gr3 *s, u32 id)
{
	u32 home = task_of(s, id)->home;

	if (home)
		ring_push_back(&s->fronts, &s->front[(home - 1) & CPU_MASK], id);
}

/* Of one that is away */
static inline void gr3_drop_frontlog(struct gr3 *s, u32 id)
{
	struct gr3_task *t = task_of(s, id);

	s->F_T -= t->F;
	if (t->home)
		gr3_displace_frontlog(s, id);
	t->F = 0;
}

#endif
