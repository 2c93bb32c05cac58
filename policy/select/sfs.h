/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sfs: surplus fair scheduling. The task with the least service beyond its share runs.
 *
 * Chandra, Adler, Goyal, Shenoy: "Surplus Fair Scheduling: A Proportional-Share CPU Scheduling Algorithm for
 * Symmetric Multiprocessors" (OSDI 2000): papers/sfs.md.
 * Its weight readjustment (section 2.1) is weight/feasible.h, which comes with this policy.
 * Other than there: the least surplus is searched for, not sorted by (sfs D1); tags are compared by difference, so
 * there is nothing to do when they wrap around (sfs D2).
 */
#include "sfs/heuristic.h"
#include "sfs/surplus.h"

#define POLICY_TITLE "surplus fair scheduling: the least service beyond its share runs"
#define POLICY_HAS CHARGE | REWEIGH

#define POLICY_MODIFIERS FEASIBLE
#define POLICY_SHOWS(V) \
	V("surplus", "ns", sfs_shown_surplus(s, id)) \
	V("start tag", "ns of a nice-0 task", task_of(s, id)->S)

/* ---- tags ---- */

/* v = min S over all runnable tasks; while nobody is runnable it stays at the last finish tag (sfs R4) */
static inline void sfs_advance(struct sfs *s)
{
	if (s->runnable.n)
		s->v = heap_first_key(&s->runnable);
}

#define SFS_FAR (1ull << 61) /* one charge moves a tag no further, so that the order of tags stays defined (sfs R8) */

/* F += scale q/phi; the remainder is carried (sfs R2, R8) */
static inline void sfs_receive(struct sfs *s, struct vtime *F, u64 q, u64 phi)
{
	u64 scaled = (q < VTIME_RAN_MAX ? q : VTIME_RAN_MAX) * s->param.scale;
	struct wide rest = { .lo = F->rest }, product = wide_add(wide_mul(scaled, WEIGHT_NICE_0), rest);
	u64 dF = wide_div(&s->division, product, phi);

	F->rest = product.lo - dF * phi;
	if (dF > SFS_FAR) {
		dF = SFS_FAR;
		F->rest = 0;
	}
	F->v += dF;
}

/* The surplus in ns of service: phi counts from nice 0 on. A task that is not runnable has none. */
static inline s64 sfs_shown_surplus(const struct sfs *s, u32 id)
{
	struct wide surplus = wide_mul(weight_of(&s->tasks, id), task_of(s, id)->S - s->v);

	return heap_holds(&s->runnable, id) ? surplus.hi << 44 | surplus.lo >> 20 : 0;
}

/* ---- the choice ---- */

/* The first to run after `after`, into least and its rank into rank; 0 if there is none. */
static inline void sfs_find_next(struct sfs *s)
{
	s->least = 0;
	s->rank = (struct sfs_rank){ .surplus = { ~0ull, ~0ull } };
	if (s->param.k)
		sfs_find_little(s);
	else
		sfs_find_least(s);
}

/* The first of the B least surpluses that last ran on this CPU, else the least (sfs R6) */
static NOINLINE void sfs_choose(struct sfs *s, u32 cpu)
{
	s64 left = s->param.bias;

	s->choice = 0;
	s->after = (struct sfs_rank){ .turn = 0 };
	while (left > 0 && can_loop) {
		sfs_find_next(s);
		if (!s->least)
			return;
		if (!s->choice || cpu_of(&s->tasks, s->least) == cpu)
			s->choice = s->least;
		if (cpu_of(&s->tasks, s->choice) == cpu)
			return;
		s->after = s->rank;
		left--;
	}
}

/* ---- the contract ---- */

static inline void sfs_wait(struct sfs *s, u32 id)
{
	tree_insert(&s->waiting, id, weight_of(&s->tasks, id), task_of(s, id)->S, ++s->turns);
	if (s->param.k)
		sfs_sort_in(s, id);
}

static inline void sfs_wait_no_more(struct sfs *s, u32 id)
{
	tree_remove(&s->waiting, id);
	if (tree_root(&s->by_S)) {
		tree_remove(&s->by_S, id);
		tree_remove(&s->by_surplus, id);
	}
}

/* S = max(F, v) after a sleep, S = v for a newcomer (sfs R3) */
static inline void sfs_join(struct sfs *s, u32 id, u64 now, enum why why)
{
	struct sfs_task *t = task_of(s, id);

	sfs_advance(s);
	/* Without a remainder: its weight may be another one than before it slept. */
	t->F = (struct vtime){ .v = why == NEW ? s->v : vtime_max(t->F.v, s->v) };
	t->S = t->F.v;
	heap_insert(&s->runnable, id, t->S);
	sfs_wait(s, id);
}

static inline void sfs_leave(struct sfs *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->runnable, id);
	sfs_wait_no_more(s, id);
	if (!s->runnable.n)
		s->v = vtime_max(s->v, task_of(s, id)->F.v);
}

static inline u32 sfs_pick(struct sfs *s, u32 cpu, u64 now)
{
	sfs_advance(s);
	sfs_keep_sorted(s);
	sfs_choose(s, cpu);
	if (s->choice)
		sfs_wait_no_more(s, s->choice);
	return s->choice;
}

/* F = S + q/phi with the q that was used, so quanta may vary (sfs R2) */
static inline void sfs_charge(struct sfs *s, u32 id, u64 ran, u64 now)
{
	sfs_receive(s, &task_of(s, id)->F, ran, weight_of(&s->tasks, id));
}

/* Its start tag follows only now, when it is off its CPU (sfs R2). */
static inline void sfs_stop(struct sfs *s, u32 id, u64 now, enum why why)
{
	struct sfs_task *t = task_of(s, id);

	t->S = t->F.v;
	heap_rekey(&s->runnable, id, t->S);
	sfs_advance(s);
	sfs_wait(s, id);
}

/* Its surplus counts at the new weight from now on; its turn is the one that it has. */
static inline void sfs_reweigh(struct sfs *s, u32 id, u64 w, u64 now)
{
	u64 turn = tree_node(&s->waiting, id)->turn;

	vtime_reweigh(&task_of(s, id)->F);
	if (!tree_holds(&s->waiting, id))
		return;
	tree_remove(&s->waiting, id);
	tree_insert(&s->waiting, id, w, task_of(s, id)->S, turn);
}
