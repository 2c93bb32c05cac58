/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sfs: surplus fair scheduling. Who has received the least service beyond its share runs.
 *
 * Chandra, Adler, Goyal, Shenoy: "Surplus Fair Scheduling: A Proportional-Share CPU Scheduling Algorithm for
 * Symmetric Multiprocessors" (OSDI 2000): papers/sfs.md.
 * Its weight readjustment (section 2.1) is weight/feasible.h, which comes with this policy.
 * Not taken: the affinity bias (sfs D1) and the heuristic that looks at some tasks only (sfs D2).
 */
#include "../policy.h"
#include "../lib/heap.h"
#include "../lib/ring.h"
#include "../lib/vtime.h"
#include "../lib/wide.h"

#define POLICY_PARAMS(P)
#define POLICY_MODIFIERS FEASIBLE

#define POLICY_ABOUT(A) \
	A(TITLE, "surplus fair scheduling: the least service beyond its share runs") \
	A(PAPER, "Chandra, Adler, Goyal, Shenoy: Surplus Fair Scheduling, OSDI 2000") \
	A(GUARANTEE, "no bound in the paper; no task that stays runnable starves, as all weights are feasible") \
	A(COST, "O(n): all that wait are looked at until one has no surplus") \
	A(DEVIATION, "D1: no affinity bias: of the tasks with the least surplus the first runs, wherever it ran before") \
	A(DEVIATION, "D2: the exact least surplus, not the heuristic of section 3.2")

struct sfs_task {
	u64 S;          /* start tag, ns of a nice-0 task: as when it was last given a CPU while it runs */
	struct vtime F; /* finish tag so far: S + service/phi */
};

struct sfs {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	u64 v;                /* virtual time: the least S of any runnable task */
	struct heap runnable; /* by S, the running ones too */
	struct links waiting; /* in order in which they began to wait */
	u32 longest;          /* of those: the one that began first */
	u32 least;            /* scratch of sfs_find_least */
	struct sfs_task task[POOL];
};

static inline struct sfs_task *sfs_task(struct sfs *s, u32 id)
{
	return &s->task[id & POOL_MASK];
}

static inline void sfs_init(struct sfs *s)
{
}

/* v = min S over all runnable tasks; while nobody is runnable it stays at the last finish tag (sfs R4) */
static inline void sfs_advance(struct sfs *s)
{
	if (s->runnable.n)
		s->v = heap_first_key(&s->runnable);
}

/* S = max(F, v) after a sleep, S = v for a newcomer (sfs R3) */
static inline void sfs_join(struct sfs *s, u32 id, u64 now, enum why why)
{
	struct sfs_task *t = sfs_task(s, id);

	sfs_advance(s);
	if (why == NEW || vtime_before(t->F.v, s->v))
		t->F = (struct vtime){ .v = s->v };
	t->S = t->F.v;
	heap_insert(&s->runnable, id, t->S);
	ring_push_back(&s->waiting, &s->longest, id);
}

static inline void sfs_leave(struct sfs *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->runnable, id);
	if (!is_picked(&s->facts, id))
		ring_remove(&s->waiting, &s->longest, id);
	if (!s->runnable.n)
		s->v = vtime_max(s->v, sfs_task(s, id)->F.v);
}

/* phi_a (S_a - v) > phi_b (S_b - v): a has the greater surplus (sfs R5) */
static inline bool sfs_surplus_greater(struct sfs *s, u32 a, u32 b)
{
	return wide_greater(weight_of(&s->facts, a), sfs_task(s, a)->S - s->v,
			    weight_of(&s->facts, b), sfs_task(s, b)->S - s->v);
}

/* Of the tasks that wait from `least` on, the first with the least surplus, into least. */
static NOINLINE void sfs_find_least(struct sfs *s)
{
	u32 id = s->least;

	while (sfs_task(s, s->least)->S != s->v && can_loop) {
		id = ring_next(&s->waiting, id);
		if (id == s->longest)
			return;
		if (sfs_surplus_greater(s, s->least, id))
			s->least = id;
	}
}

/* Of the tasks that do not run the one with the least surplus, equal ones in the order in which they began
 * to wait (sfs R5) */
static inline u32 sfs_pick(struct sfs *s, u32 cpu, u64 now)
{
	if (!s->longest)
		return 0;
	sfs_advance(s);
	s->least = s->longest;
	sfs_find_least(s);
	ring_remove(&s->waiting, &s->longest, s->least);
	return s->least;
}

/* F = S + q/phi with the q that was used (sfs R2) */
static inline void sfs_charge(struct sfs *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(&sfs_task(s, id)->F, ran, weight_of(&s->facts, id));
}

/* Its start tag follows only now, when it is off its CPU (sfs R2). */
static inline void sfs_stop(struct sfs *s, u32 id, u64 now, enum why why)
{
	struct sfs_task *t = sfs_task(s, id);

	t->S = t->F.v;
	heap_rekey(&s->runnable, id, t->S);
	ring_push_back(&s->waiting, &s->longest, id);
}

static inline void sfs_reweigh(struct sfs *s, u32 id, u64 w, u64 now)
{
	vtime_reweigh(&sfs_task(s, id)->F);
}
