/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sfs: surplus fair scheduling. Who has received the least service beyond its share runs.
 *
 * Chandra, Adler, Goyal, Shenoy: "Surplus Fair Scheduling: A Proportional-Share CPU Scheduling Algorithm for
 * Symmetric Multiprocessors" (OSDI 2000): papers/sfs.md.
 * Its weight readjustment (section 2.1) is weight/feasible.h, which comes with this policy.
 * Other than there: the least surplus is searched for, not sorted by (sfs D1); tags are compared by difference, so
 * there is nothing to do when they wrap around (sfs D2).
 */
#include "../policy.h"
#include "../lib/heap.h"
#include "../lib/tree.h"
#include "../lib/vtime.h"
#include "../lib/wide.h"

#define POLICY_TITLE "surplus fair scheduling: the least service beyond its share runs"
#define POLICY_HAS CHARGE | REWEIGH

#define POLICY_PARAMS(P) \
	P(bias, INTEGER, "", 1, 1, 1024, \
	  "B: of this many least surpluses the first that last ran on the CPU is taken, else the least; 1 is pure fairness") \
	P(k, INTEGER, "", 0, 0, 1024, \
	  "heuristic: look only at the first k by weight, by start tag and by the surplus that was; 0 finds the least") \
	P(update, INTEGER, "decisions", 100, 1, 1000000, "with k: how often the surplus of all tasks is computed anew") \
	P(scale, INTEGER, "", 1, 1, 10000, "scaling factor: tags count this many parts of a ns of a nice-0 task")
#define POLICY_MODIFIERS FEASIBLE
#define POLICY_SHOWS(V) \
	V("surplus", "ns", sfs_shown_surplus(s, id)) \
	V("start tag", "ns of a nice-0 task", task_of(s, id)->S)

/* The order in which tasks are to run */
struct sfs_rank {
	struct wide surplus; /* phi (S - v), or a bound of it */
	u64 turn;            /* equal ones in the order in which they began to wait */
};

struct sfs_task {
	u64 S;          /* start tag, ns of a nice-0 task: as when it was last given a CPU while it runs */
	struct vtime F; /* finish tag so far: S + service/phi */
};

struct sfs {
	POLICY_STATE;
	u64 v;                  /* virtual time: the least S of any runnable task */
	struct heap runnable;   /* by S, the running ones too */
	struct tree waiting;    /* those that do not run, by phi, equal ones by S */
	struct tree by_S;       /* the same, with k, by S */
	struct tree by_surplus; /* and by the surplus that they had */
	u64 turns;              /* that began to wait so far */
	u64 choices;            /* made since surpluses were computed anew */
	u32 least;              /* of the search: the task that is to run */
	struct sfs_rank rank;   /* its rank */
	struct sfs_rank after;  /* those up to this one are passed over */
	u32 choice;             /* of the B least */
	TASKS(sfs_task);
};

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

/* ---- surpluses ---- */

/* phi (S - v) (sfs R5) */
static inline struct sfs_rank sfs_rank(const struct sfs *s, u64 phi, u64 S, u64 turn)
{
	return (struct sfs_rank){ .surplus = wide_mul(phi, S - s->v), .turn = turn };
}

/* The surplus in ns of service: phi counts from nice 0 on. Who is not runnable has none. */
static inline s64 sfs_shown_surplus(const struct sfs *s, u32 id)
{
	struct wide surplus = wide_mul(weight_of(&s->tasks, id), task_of(s, id)->S - s->v);

	return heap_holds(&s->runnable, id) ? surplus.hi << 44 | surplus.lo >> 20 : 0;
}

static inline bool sfs_rank_before(const struct sfs_rank *a, const struct sfs_rank *b)
{
	if (a->surplus.hi != b->surplus.hi)
		return a->surplus.hi < b->surplus.hi;
	if (a->surplus.lo != b->surplus.lo)
		return a->surplus.lo < b->surplus.lo;
	return a->turn < b->turn;
}

/* Computes a waiting task's surplus, and remembers the task if it has the least so far. */
static inline void sfs_look_at(struct sfs *s, u32 id)
{
	const struct tree_node *t = tree_node(&s->waiting, id);
	struct sfs_rank rank = sfs_rank(s, t->major, t->minor, t->turn);

	if (sfs_rank_before(&rank, &s->rank) && sfs_rank_before(&s->after, &rank)) {
		s->rank = rank;
		s->least = id;
	}
}

/*
 * Whether a subtree may have a task with a lesser surplus than the least so far: none in it has less than its least phi
 * times its least S - v; nor as much and an earlier turn, as only the first with that S can have as little.
 */
static inline bool sfs_promises(struct sfs *s, u32 id)
{
	const struct tree_node *t = tree_node(&s->waiting, id);
	struct sfs_rank bound = sfs_rank(s, t->least_major, t->first_minor, t->first_turn);

	return id && sfs_rank_before(&bound, &s->rank);
}

/* From a task of the tree to the next one to look at, or some way there */
static inline void sfs_search_on(struct sfs *s, struct tree *t)
{
	const struct tree_node *n = tree_node(t, t->at);

	if (t->way == DOWN && sfs_promises(s, n->child[0]))
		tree_go_down(t, n->child[0]);
	else if (t->way != UP_FROM_AFTER && sfs_promises(s, n->child[1]))
		tree_go_down(t, n->child[1]);
	else
		tree_go_up(t);
}

/* The least surplus of all that wait (sfs R5) */
static NOINLINE void sfs_find_least(struct sfs *s)
{
	struct tree *t = &s->waiting;

	sfs_look_at(s, tree_node(t, tree_root(t))->first);
	tree_start(t);
	while (t->at && can_loop) {
		if (t->way == DOWN)
			sfs_look_at(s, t->at);
		sfs_search_on(s, t);
	}
}

/* ---- the heuristic ---- */

/* A surplus in ns of service, for the order of those that were */
static inline u64 sfs_old_surplus(struct sfs *s, u32 id)
{
	const struct tree_node *t = tree_node(&s->waiting, id);
	struct wide surplus = wide_mul(t->major, t->minor - s->v);

	return surplus.hi >> 20 ? ~0ull : surplus.hi << 44 | surplus.lo >> 20;
}

/* Its place among the surpluses is that of now, until the next update. A task that waited when k was set comes in then
 * (sfs R7). */
static inline void sfs_sort_in(struct sfs *s, u32 id)
{
	u64 S = task_of(s, id)->S, turn = tree_node(&s->waiting, id)->turn;

	if (!tree_holds(&s->by_S, id))
		tree_insert(&s->by_S, id, 0, S, turn);
	tree_remove(&s->by_surplus, id);
	tree_insert(&s->by_surplus, id, sfs_old_surplus(s, id), S, turn);
}

static NOINLINE void sfs_sort(struct sfs *s)
{
	tree_start(&s->waiting);
	while (s->waiting.at && can_loop) {
		u32 id = tree_step(&s->waiting);

		if (id)
			sfs_sort_in(s, id);
	}
}

/* Looks at the first k tasks of an order. */
static NOINLINE void sfs_look_at_first(struct sfs *s, struct tree *order)
{
	s64 k = s->param.k;

	tree_start(order);
	while (order->at && k > 0 && can_loop) {
		u32 id = tree_step(order);

		if (id) {
			sfs_look_at(s, id);
			k--;
		}
	}
}

/* The least surplus of k tasks with little weight, k with little S, and k that had little surplus (sfs R7) */
static inline void sfs_find_little(struct sfs *s)
{
	sfs_look_at_first(s, &s->waiting);
	sfs_look_at_first(s, &s->by_S);
	sfs_look_at_first(s, &s->by_surplus);
}

static inline void sfs_keep_sorted(struct sfs *s)
{
	if (!s->param.k || ++s->choices < s->param.update)
		return;
	s->choices = 0;
	sfs_sort(s);
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
