/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* gr3: frontlogs of GR3MP, selections of clients that ran already, and the queues of CPUs to work them off. */
#ifndef DIVVY_GR3_FRONTLOGS_H
#define DIVVY_GR3_FRONTLOGS_H

#include "../../lib/cpus.h"
#include "state.h"

static inline void gr3_queue_frontlog(struct gr3 *s, u32 id, u32 cpu)
{
	ring_push_back(&s->fronts, &s->front[cpu & CPU_MASK], id);
	s->F_cpu[cpu & CPU_MASK] += task_of(s, id)->F;
	task_of(s, id)->home = 1 + cpu;
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
	gr3_add_frontlog(s, id, wide_mul_div(&s->division, s->F_T, task_of(s, id)->phi, s->phi_t));
}

/* A client comes with a frontlog, its share or what it kept while it was blocked: to the CPU that has the least (gr3 R12). */
static inline void gr3_place_frontlog(struct gr3 *s, u32 id)
{
	if (!task_of(s, id)->F)
		return;
	gr3_find_least_frontlog(s);
	gr3_queue_frontlog(s, id, s->found);
}

static NOINLINE void gr3_unqueue_frontlog(struct gr3 *s, u32 id)
{
	struct gr3_task *t = task_of(s, id);
	u32 cpu = t->home - 1;

	ring_remove(&s->fronts, &s->front[cpu & CPU_MASK], id);
	s->F_cpu[cpu & CPU_MASK] -= t->F;
	t->home = 0;
}

/* It no longer waits. */
static inline void gr3_take(struct gr3 *s, u32 id)
{
	ring_remove(&s->waiting, &s->longest, id);
	if (task_of(s, id)->home)
		gr3_unqueue_frontlog(s, id);
}

#endif
