/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sfq: start-time fair queueing. Each task has a start tag, its service over its weight. The task with
 * the least tag runs.
 *
 * Goyal, Guo, Vin: "A Hierarchical CPU Scheduler for Multimedia Operating Systems" (OSDI 1996), on P CPUs as
 * section 1.2 of Surplus Fair Scheduling (OSDI 2000) has it: papers/sfq.md.
 * Not taken: the hierarchy (sfq D1).
 */
#include "../policy.h"
#include "../lib/cpus.h"
#include "../lib/heap.h"
#include "../lib/vtime.h"

#define POLICY_TITLE "start-time fair queueing: the least service over weight runs"
#define POLICY_BASELINE
#define POLICY_HAS CHARGE | REWEIGH | FORK | OVERDRAWN | VIRTUAL_TIME | PEEK | KEY | SHIFT

#define POLICY_PARAMS(P) \
	P(debit, SWITCH, "", 1, 0, 1, \
	  "a forked task begins where its parent is, and owes a quantum; off: as published, at v")

#define POLICY_SHOWS(V) V("start tag", "ns of a nice-0 task", task_of(s, id)->S.v)

struct sfq_task {
	struct vtime S; /* start tag while waiting or running, finish tag once blocked */
};

struct sfq {
	POLICY_STATE;
	u64 v;               /* virtual time: the least S of any runnable task; never decreases */
	struct heap waiting; /* by S */
	u64 least;           /* scratch of sfq_least_running */
	TASKS(sfq_task);
};

/* Lowers `least` to the least S of a running task. */
static NOINLINE void sfq_least_running(struct sfq *s)
{
	for_each_cpu(cpu, s) {
		u32 id = picked_on(&s->tasks, cpu);

		if (id && vtime_before(task_of(s, id)->S.v, s->least))
			s->least = task_of(s, id)->S.v;
	}
}

/* v = min S over all runnable tasks; while nobody is runnable it stays at the last finish tag (sfq R3) */
static inline void sfq_advance(struct sfq *s)
{
	u64 none = s->v + (1ull << 62);

	s->least = s->waiting.n ? heap_first_key(&s->waiting) : none;
	sfq_least_running(s);
	if (s->least != none)
		s->v = vtime_max(s->v, s->least);
}

/* A child begins where its parent's slice began, a new task without a parent at v (sfq R5). */
static inline void sfq_fork(struct sfq *s, u32 id, u32 parent, u64 now)
{
	bool owes = parent && s->param.debit;

	task_of(s, id)->S =
		(struct vtime){ .v = owes ? vtime_of_child(task_of(s, parent)->S, &s->tasks, parent) : s->v };
}

/* As far as its tag is ahead of v: on several CPUs that may be more than a slice (sfq R5). */
static inline u64 sfq_overdrawn(struct sfq *s, u32 id)
{
	sfq_advance(s);
	return vtime_lead(task_of(s, id)->S.v, s->v, weight_of(&s->tasks, id));
}

static inline u64 sfq_virtual_time(const struct sfq *s)
{
	return s->v;
}

/* S = max(F, v): a sleeper keeps no claim on the time that it slept (sfq R1); a child owes its debit (sfq R5),
 * and a task whose program or group is ahead begins at that one's time (procfair R4). */
static inline void sfq_join(struct sfq *s, u32 id, u64 now, enum why why)
{
	struct sfq_task *t = task_of(s, id);

	vtime_raise(&t->S, s->v + ahead_of(&s->tasks, id));
	sfq_advance(s);
	vtime_raise(&t->S, s->v);
	if (why == NEW && s->param.debit)
		vtime_advance(&t->S, debit_of(&s->tasks, id), weight_of(&s->tasks, id));
	heap_insert(&s->waiting, id, t->S.v);
}

static inline void sfq_leave(struct sfq *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
	if (s->tasks.nrunnable == 1)
		s->v = vtime_max(s->v, task_of(s, id)->S.v);
}

/* The task with the least start tag runs; equal ones run in the order in which they began to wait (sfq R4). */
static inline u32 sfq_peek(struct sfq *s, u32 cpu, u64 now)
{
	return heap_first(&s->waiting);
}

static inline void sfq_take(struct sfq *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

/* F = S + q/w, where q is the time used: quanta may vary (sfq R2). */
static inline void sfq_charge(struct sfq *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(&task_of(s, id)->S, ran, weight_of(&s->tasks, id));
}

static inline void sfq_stop(struct sfq *s, u32 id, u64 now, enum why why)
{
	heap_insert(&s->waiting, id, task_of(s, id)->S.v);
}

static inline void sfq_reweigh(struct sfq *s, u32 id, u64 w, u64 now)
{
	vtime_reweigh(&task_of(s, id)->S);
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline u64 sfq_key(struct sfq *s, u32 id)
{
	return task_of(s, id)->S.v;
}

static inline void sfq_detach(struct sfq *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

static inline void sfq_attach(struct sfq *s, u32 id, u64 by)
{
	task_of(s, id)->S.v += by;
}
