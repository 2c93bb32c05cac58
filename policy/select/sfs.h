/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sfs: surplus fair scheduling. The task with the least service beyond its share runs.
 *
 * Chandra, Adler, Goyal, Shenoy: "Surplus Fair Scheduling: A Proportional-Share CPU Scheduling Algorithm for
 * Symmetric Multiprocessors" (OSDI 2000): papers/sfs.md.
 * Its weight readjustment (section 2.1) is weight/feasible.h, which comes with this policy.
 * Other than there: the least surplus is searched for, not sorted by (sfs D1); tags are compared by difference, so
 * there is nothing to do when they wrap around (sfs D2); what they leave over is carried, so ties are exact (sfs D3).
 */
#include "sfs/heuristic.h"
#include "sfs/surplus.h"
#include "sfs/tags.h"

#define POLICY_TITLE "surplus fair scheduling: the least service beyond its share runs"
#define POLICY_HAS CHARGE | REWEIGH | PREEMPTS | FORK | OVERDRAWN | VIRTUAL_TIME | PEEK | KEY | SHIFT
#define POLICY_PREEMPTS_IF(s) ((s)->param.credit)

#define POLICY_TAG_SCALE(s) (s)->param.scale
#define POLICY_MODIFIERS FEASIBLE
#define POLICY_SHOWS(V) \
	V("surplus", "ns", sfs_shown_surplus(s, id)) \
	V("start tag", "ns of a nice-0 task", task_of(s, id)->S.v)

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

/* One of the B least more */
static NOINLINE void sfs_try_next(struct sfs *s, u32 cpu)
{
	sfs_find_next(s);
	s->tries--;
	s->after = s->rank;
	if (!s->least) {
		s->tries = 0;
		return;
	}
	if (cpu_of(&s->tasks, s->least) == cpu)
		s->tries = 0;
	else if (s->choice)
		return;
	s->choice = s->least;
}

/* The first of the B least surpluses that last ran on this CPU, else the least (sfs R6) */
static NOINLINE void sfs_choose(struct sfs *s, u32 cpu)
{
	/* Surpluses of tasks that share no CPU do not compare: the least S (sfs D7). */
	s->choice =
		s->tasks.nbound && tree_root(&s->waiting) ? tree_node(&s->waiting, tree_root(&s->waiting))->first : 0;
	if (s->choice)
		return;
	s->after = (struct sfs_rank){ .turn = 0 };
	s->tries = s->param.bias;
	while (s->tries > 0 && can_loop)
		sfs_try_next(s, cpu);
}

/* ---- the contract ---- */

static NOINLINE void sfs_wait(struct sfs *s, u32 id, struct tag S, u64 turn)
{
	tree_insert_part(&s->waiting, id, weight_of(&s->tasks, id), S.v, S.part, turn);
	if (s->param.k)
		sfs_sort_in(s, id);
}

/* scale q/phi, rounded down, at most SFS_FAR */
static inline u64 sfs_over_phi(struct sfs *s, u64 q, u32 id)
{
	u64 v = wide_mul_div(&s->division, q * s->param.scale, WEIGHT_NICE_0, weight_of(&s->tasks, id));

	return v < SFS_FAR ? v : SFS_FAR;
}

/* With credit, who woke is looked at as if its tag were so much less, and comes before others of equal surplus (sfs R9). */
static NOINLINE void sfs_wait_with_credit(struct sfs *s, u32 id)
{
	struct tag S = task_of(s, id)->S;

	S.v -= sfs_over_phi(s, s->param.credit, id);
	sfs_wait(s, id, tag_max(S, s->v), ++s->turns);
}

static NOINLINE void sfs_wait_no_more(struct sfs *s, u32 id)
{
	tree_remove(&s->waiting, id);
	if (tree_root(&s->by_S)) {
		tree_remove(&s->by_S, id);
		tree_remove(&s->by_surplus, id);
	}
}

/* A child begins where its parent's slice began, a new thread without a parent at v (sfs R10). */
static inline void sfs_fork(struct sfs *s, u32 id, u32 parent, u64 now)
{
	task_of(s, id)->F = parent && s->param.debit ? task_of(s, parent)->S : s->v;
}

/* Its surplus: on several CPUs that may be more than a slice (sfs R10). */
static NOINLINE u64 sfs_overdrawn(struct sfs *s, u32 id)
{
	u64 w = weight_of(&s->tasks, id), far = SFS_FAR / (w / WEIGHT_NICE_0 + 1);
	s64 ahead = sfs_finish(s, id).v - s->v.v;

	if (ahead <= 0)
		return 0;
	return wide_mul_div(&s->division, (u64)ahead < far ? ahead : far, w, WEIGHT_NICE_0 * s->param.scale);
}

static inline u64 sfs_virtual_time(const struct sfs *s)
{
	return s->v.v;
}

/* S = max(F, v) after a sleep, S = v for a newcomer (sfs R3); a child owes its debit (sfs R10). A task whose
 * program or group is ahead begins later by that lead (procfair R4). Inlined, as calls are deep below. */
static ALWAYS_INLINE void sfs_join(struct sfs *s, u32 id, u64 now, enum why why)
{
	struct sfs_task *t = task_of(s, id);

	if (ahead_of(&s->tasks, id))
		t->F = tag_max(t->F, (struct tag){ s->v.v + ahead_of(&s->tasks, id), s->v.part });
	sfs_advance(s);
	t->F = tag_max(t->F, s->v);
	t->rest = 0;
	if (why == NEW && s->param.debit && debit_of(&s->tasks, id))
		t->F.v += sfs_over_phi(s, debit_of(&s->tasks, id), id);
	t->S = t->F;
	heap_insert_ranked(&s->runnable, id, t->S.v, tag_rank(t->S));
	if (s->param.credit && why == WOKEN)
		sfs_wait_with_credit(s, id);
	else
		sfs_wait(s, id, t->S, ++s->turns | SFS_BEHIND);
}

static inline void sfs_leave(struct sfs *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->runnable, id);
	sfs_wait_no_more(s, id);
	sfs_settle(s, id);
	if (!s->runnable.n)
		s->v = tag_max(s->v, task_of(s, id)->F);
}

/* Beside bound tasks v stays as it was when the last slice ended: the one that ran here may be out of sight, and v would be the tag
 * of a CPU with less to do. Who sleeps on a crowded CPU would join behind that. */
static inline u32 sfs_peek(struct sfs *s, u32 cpu, u64 now)
{
	if (!s->tasks.nbound)
		sfs_advance(s);
	sfs_keep_sorted(s);
	sfs_choose(s, cpu);
	return s->choice;
}

static inline void sfs_take(struct sfs *s, u32 id)
{
	sfs_wait_no_more(s, id);
}

/* F = S + q/phi with the q that was used, so quanta may vary (sfs R2) */
static inline void sfs_charge(struct sfs *s, u32 id, u64 ran, u64 now)
{
	sfs_receive(s, task_of(s, id), ran, weight_of(&s->tasks, id));
}

/* Its start tag follows only now, when it is off its CPU (sfs R2). */
static inline void sfs_stop(struct sfs *s, u32 id, u64 now, enum why why)
{
	struct sfs_task *t = task_of(s, id);

	t->S = sfs_finish(s, id);
	heap_remove(&s->runnable, id);
	heap_insert_ranked(&s->runnable, id, t->S.v, tag_rank(t->S));
	sfs_advance(s);
	sfs_wait(s, id, t->S, ++s->turns | SFS_BEHIND);
}

/* Its surplus counts at the new weight from now on; its turn is the one that it has. */
static inline void sfs_reweigh(struct sfs *s, u32 id, u64 w, u64 now)
{
	struct tree_node was = *tree_node(&s->waiting, id);

	sfs_settle(s, id);
	if (!tree_holds(&s->waiting, id))
		return;
	tree_remove(&s->waiting, id);
	tree_insert_part(&s->waiting, id, w, was.minor, was.part, was.turn);
}

/* With credit: by surpluses, that of the running task with what it used of its quantum (sfs R9) */
static inline bool sfs_preempts(struct sfs *s, u32 woken, u32 running, u64 now)
{
	const struct tree_node *t = tree_node(&s->waiting, woken);
	struct tag S = { .v = t->minor, .part = t->part };
	struct sfs_rank own = sfs_rank(s, t->major, S, 0);
	struct sfs_rank other = sfs_rank(s, weight_of(&s->tasks, running), sfs_finish(s, running), 0);

	return t->turn < SFS_BEHIND && sfs_rank_before(&own, &other);
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline u64 sfs_key(struct sfs *s, u32 id)
{
	return task_of(s, id)->S.v;
}

static inline void sfs_detach(struct sfs *s, u32 id)
{
	heap_remove(&s->runnable, id);
	sfs_wait_no_more(s, id);
}

static inline void sfs_attach(struct sfs *s, u32 id, u64 by)
{
	struct sfs_task *t = task_of(s, id);

	t->S.v += by;
	t->F.v += by;
	heap_insert_ranked(&s->runnable, id, t->S.v, tag_rank(t->S));
}
