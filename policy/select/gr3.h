/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gr3: group ratio round-robin. Clients of similar weight form a group; groups take turns in the ratio of
 * their weights, the clients of a group in a circle; nothing is sorted but the few groups.
 *
 * Caprita, Chan, Nieh, Stein, Zheng: "Group Ratio Round-Robin: O(1) Proportional Share Scheduling for
 * Uniprocessor and Multiprocessor Systems" (USENIX 2005), GR3 and GR3MP in one: papers/gr3.md.
 * Its weight readjustment (section 3.3) is weight/feasible.h, which comes with this policy.
 */
#include "../policy.h"
#include "../lib/bits.h"
#include "../lib/ring.h"
#include "../lib/wide.h"

#define POLICY_TITLE "group ratio round-robin: proportional shares in constant time"
#define POLICY_COUNTS_SLICES
#define POLICY_HAS REWEIGH

#define POLICY_PARAMS(P) \
	P(literal, SWITCH, "", 0, 0, 1, "rescale the work of a group that changes by the formula of section 2.3 (gr3 D6)")
#define POLICY_MODIFIERS FEASIBLE
#define POLICY_SHOWS(V) V("deficit", "quanta/1000", gr3_shown_deficit(s, id)) V("frontlog", "quanta", task_of(s, id)->F)

#define GR3_GROUPS 64u
#define GR3_SELECTIONS_MAX 1024u
#define GR3_QUANTUM (1ull << 8) /* of W: a change of weight leaves no rest worth speaking of, and products are short */
#define GR3_W_MAX (1ull << 62)

struct gr3_group {
	u64 phi;   /* Phi_G, sum of the weights of its clients */
	u64 W1;    /* W_G + 1: quanta that it received, and the one that it would get next; in 2^-8 */
	u32 k;     /* its current client; it is empty when 0 */
	bool over; /* the turn of k is over, whatever its deficit */
	u32 next;  /* in the group list, 0 after the last */
	u32 prev;
};

struct gr3_task {
	u64 phi;   /* weight under which it is in its group, 0 when it is in none */
	u32 group; /* of phi, as the logarithm is 40 instructions of BPF */
	u64 D;     /* deficit, in 1/phi_min quanta, phi_min = 2^order */
	u64 F;     /* frontlog, quanta: selected while it was running already */
	u32 home;  /* 1 + the CPU in whose frontlog queue it is, 0 when it is in none */
	bool away; /* not runnable, and still in its group */
};

struct gr3 {
	POLICY_STATE;
	struct gr3_group group[GR3_GROUPS]; /* by 1 + order; [0] is the head of the group list */
	u32 i;                  /* current group, 0 for the first of the list */
	u64 phi_t;              /* Phi_T, sum of all weights */
	u64 W_T;                /* quanta given out from the queue since it was empty */
	u64 F_T;                /* frontlog in total, quanta */
	u64 F_cpu[MAX_CPUS];    /* frontlog in each CPU's queue, quanta */
	u32 front[MAX_CPUS];    /* first in each CPU's frontlog queue */
	struct links fronts;
	struct links members;   /* of each group */
	struct links waiting;   /* runnable and not picked */
	u32 longest;            /* of those: the one that began to wait first */
	u32 found;              /* scratch of the searches below */
	u32 selections;
	TASKS(gr3_task);
};

static inline struct gr3_group *gr3_group(struct gr3 *s, u32 G)
{
	return &s->group[G % GR3_GROUPS];
}

/* Weights from 2^order to 2^(order+1) - 1 are one group (gr3 R1). */
static inline u32 gr3_group_of(u64 phi)
{
	return 1 + floor_log2(phi);
}

static inline s64 gr3_shown_deficit(const struct gr3 *s, u32 id)
{
	const struct gr3_task *t = task_of(s, id);

	return t->group ? t->D * 1000 >> (t->group - 1) % GR3_GROUPS : 0;
}

/* ---- the group list ---- */

/* From the heaviest group to the lightest, equal ones by ascending order (gr3 R2) */
static inline bool gr3_before(struct gr3 *s, u32 a, u32 b)
{
	u64 x = gr3_group(s, a)->phi, y = gr3_group(s, b)->phi;

	return x != y ? x > y : a < b;
}

/* The first group that comes after G, 0 if none does, into found. */
static NOINLINE void gr3_find_place(struct gr3 *s, u32 G)
{
	s->found = s->group[0].next;
	while (s->found && gr3_before(s, s->found, G) && can_loop)
		s->found = gr3_group(s, s->found)->next;
}

/* W_G = floor((W_n + 1) Phi_G / Phi_n) - 1: as the paper has it (gr3 D6) */
static inline u64 gr3_literal_work(struct gr3 *s, struct gr3_group *g, struct gr3_group *n)
{
	return wide_mul_div(&s->division, n->W1, g->phi, n->phi) & ~(GR3_QUANTUM - 1);
}

/* W' = W Phi_G / phi: what was received for a weight of phi, for a weight of Phi_G */
static inline u64 gr3_kept_work(struct gr3 *s, u64 W1, u64 phi, struct gr3_group *g)
{
	return GR3_QUANTUM + wide_mul_div(&s->division, W1 > GR3_QUANTUM ? W1 - GR3_QUANTUM : 0, g->phi, phi);
}

/*
 * The weight of G was `was`: its work over weight stays; that of a new group is its neighbour's, n the next group,
 * or the one before if G is the last (gr3 R5). Before the first quantum W = 0. Beyond 2^62 it saturates: G is then
 * far heavier than its neighbour, which is due only after as many quanta.
 */
static inline void gr3_scale_work(struct gr3 *s, struct gr3_group *g, u64 was)
{
	struct gr3_group *n = gr3_group(s, g->next ? g->next : g->prev);
	u64 W1;

	if (!s->W_T || !n->phi)
		return;
	if (s->param.literal)
		W1 = gr3_literal_work(s, g, n);
	else
		W1 = gr3_kept_work(s, was ? g->W1 : n->W1, was ? was : n->phi, g);
	g->W1 = W1 < GR3_W_MAX ? W1 : GR3_W_MAX;
}

/* Into its place, after its weight was changed from `was`. */
static inline void gr3_link(struct gr3 *s, u32 G, u64 was)
{
	struct gr3_group *g = gr3_group(s, G);

	gr3_find_place(s, G);
	g->next = s->found;
	g->prev = gr3_group(s, s->found)->prev;
	gr3_group(s, g->prev)->next = G;
	gr3_group(s, g->next)->prev = G;
	gr3_scale_work(s, g, was);
}

static inline void gr3_unlink(struct gr3 *s, u32 G)
{
	struct gr3_group *g = gr3_group(s, G);

	gr3_group(s, g->prev)->next = g->next;
	gr3_group(s, g->next)->prev = g->prev;
}

/* ---- clients come and go ---- */

/* D_C += phi_C / phi_min (gr3 R4) */
static inline void gr3_begin_turn(struct gr3 *s, struct gr3_group *g)
{
	struct gr3_task *t = task_of(s, g->k);

	t->D += t->phi;
	g->over = false;
}

/*
 * Right before the current client, with no deficit: all others are served first. Who founds a group is its
 * current client, and has the credit of its first round (gr3 R5).
 */
static inline void gr3_insert(struct gr3 *s, u32 id, u64 phi)
{
	u32 G = gr3_group_of(phi);
	struct gr3_group *g = gr3_group(s, G);
	struct gr3_task *t = task_of(s, id);
	u64 was = g->phi;

	t->phi = phi;
	t->group = G;
	t->D = 0;
	if (g->k) {
		gr3_unlink(s, G);
		ring_push_back(&s->members, &g->k, id);
	} else {
		g->W1 = GR3_QUANTUM;
		ring_push_back(&s->members, &g->k, id);
		gr3_begin_turn(s, g);
	}
	g->phi += phi;
	s->phi_t += phi;
	gr3_link(s, G, was);
}

/* If it is the current client, the turn is the next one's. */
static inline void gr3_remove(struct gr3 *s, u32 id)
{
	struct gr3_task *t = task_of(s, id);
	u32 G = t->group;
	struct gr3_group *g = gr3_group(s, G);
	bool current = g->k == id;
	u64 was = g->phi;

	ring_remove(&s->members, &g->k, id);
	gr3_unlink(s, G);
	g->phi -= t->phi;
	s->phi_t -= t->phi;
	t->phi = 0;
	if (g->k && current)
		gr3_begin_turn(s, g);
	if (g->k)
		gr3_link(s, G, was);
	else if (s->i == G)
		s->i = 0;
	if (!s->group[0].next)
		s->W_T = 0;
}

/* A weight that stays within its group's bounds keeps its place and deficit (gr3 R11). */
static NOINLINE void gr3_change_weight(struct gr3 *s, u32 id, u64 w)
{
	struct gr3_task *t = task_of(s, id);
	u32 G = t->group;
	u64 was = gr3_group(s, G)->phi;

	if (G != gr3_group_of(w)) {
		gr3_remove(s, id);
		gr3_insert(s, id, w);
		return;
	}
	gr3_unlink(s, G);
	gr3_group(s, G)->phi += w - t->phi;
	s->phi_t += w - t->phi;
	t->phi = w;
	gr3_link(s, G, was);
}

static inline void gr3_reweigh(struct gr3 *s, u32 id, u64 w, u64 now)
{
	if (w != task_of(s, id)->phi)
		gr3_change_weight(s, id, w);
}

/* ---- frontlogs ---- */

static inline void gr3_queue_frontlog(struct gr3 *s, u32 id, u32 cpu)
{
	ring_push_back(&s->fronts, &s->front[cpu & CPU_MASK], id);
	s->F_cpu[cpu & CPU_MASK] += task_of(s, id)->F;
	task_of(s, id)->home = 1 + cpu;
}

static inline void gr3_add_frontlog(struct gr3 *s, u32 id, u64 quanta)
{
	task_of(s, id)->F += quanta;
	s->F_T += quanta;
}

/* The CPU with the least frontlog, its running client's and its queue's, into found. */
static NOINLINE void gr3_find_least_frontlog(struct gr3 *s)
{
	u64 least = ~0ull;
	u32 cpu = s->tasks.zero;

	while (cpu < s->tasks.ncpus && can_loop) {
		u32 running = s->tasks.picked[cpu & CPU_MASK];
		u64 F = s->F_cpu[cpu & CPU_MASK] + (running ? task_of(s, running)->F : 0);

		if (F < least) {
			least = F;
			s->found = cpu;
		}
		cpu++;
	}
}

/* F_C = floor(F_T phi_C / Phi_T): who comes need not wait for all frontlogs to be worked off (gr3 R12). */
static inline void gr3_share_frontlog(struct gr3 *s, u32 id)
{
	u64 F = wide_mul_div(&s->division, s->F_T, task_of(s, id)->phi, s->phi_t);

	if (!F)
		return;
	gr3_add_frontlog(s, id, F);
	gr3_find_least_frontlog(s);
	gr3_queue_frontlog(s, id, s->found);
}

/* It no longer waits. */
static inline void gr3_take(struct gr3 *s, u32 id)
{
	struct gr3_task *t = task_of(s, id);
	u32 cpu = t->home - 1;

	ring_remove(&s->waiting, &s->longest, id);
	if (!t->home)
		return;
	ring_remove(&s->fronts, &s->front[cpu & CPU_MASK], id);
	s->F_cpu[cpu & CPU_MASK] -= t->F;
	t->home = 0;
}

/* ---- selection ---- */

/*
 * INTRAGROUP-SCHEDULE(G): if D_C < 1, then k = k + 1 mod |G| and D_C += phi_C / phi_min; D_C -= 1 (gr3 R4).
 * All in units of 1/phi_min, which makes it integer.
 */
static inline u32 gr3_intragroup(struct gr3 *s, struct gr3_group *g, u64 phi_min)
{
	if (g->over || task_of(s, g->k)->D < phi_min) {
		g->k = ring_next(&s->members, g->k);
		gr3_begin_turn(s, g);
	}
	task_of(s, g->k)->D -= phi_min;
	return g->k;
}

/*
 * INTERGROUP-SCHEDULE(): if (W_i + 1) / (W_{i+1} + 1) > Phi_i / Phi_{i+1}, then i = i + 1, else i = 1 (gr3 R3).
 * A client whose turn comes and that has not returned is removed, and the scan starts again (gr3 R6): then 0.
 */
static inline u32 gr3_intergroup(struct gr3 *s)
{
	u32 G = s->i ? s->i : s->group[0].next;
	struct gr3_group *g = gr3_group(s, G), *n;
	u32 id = gr3_intragroup(s, g, 1ull << ((G - 1) % GR3_GROUPS));

	if (task_of(s, id)->away) {
		gr3_remove(s, id);
		s->i = 0;
		return 0;
	}
	g->W1 += GR3_QUANTUM;
	s->W_T++;
	n = gr3_group(s, g->next);
	s->i = g->next && wide_greater(g->W1, n->phi, n->W1, g->phi) ? g->next : 0;
	return id;
}

/* MP-SCHEDULE, lines 8 to 12: who is selected and runs already has a quantum to its credit (gr3 R7). */
static NOINLINE void gr3_select(struct gr3 *s)
{
	s->selections = s->tasks.zero;
	while (s->selections < GR3_SELECTIONS_MAX && can_loop) {
		u32 id = gr3_intergroup(s);

		if (!id)
			continue;
		if (!is_picked(&s->tasks, id)) {
			s->found = id;
			return;
		}
		if (task_of(s, id)->F < GR3_SELECTIONS_MAX)
			gr3_add_frontlog(s, id, 1);
		s->selections++;
	}
	s->found = s->longest;
}

/* ---- the calls ---- */

/* Who returns before its turn goes on as if it had not been away (gr3 R6). */
static inline void gr3_join(struct gr3 *s, u32 id, u64 now, enum why why)
{
	struct gr3_task *t = task_of(s, id);

	if (why == NEW && t->phi) /* of an earlier task with this id */
		gr3_remove(s, id);
	if (t->phi) {
		gr3_reweigh(s, id, weight_of(&s->tasks, id), now);
	} else {
		gr3_insert(s, id, weight_of(&s->tasks, id));
		gr3_share_frontlog(s, id);
	}
	t->away = false;
	ring_push_back(&s->waiting, &s->longest, id);
}

/*
 * D_C = min(D_C(r-1) + phi_C/phi_min - ceil(w), 1), and its turn is over (gr3 R6). Each selection has taken
 * a whole quantum from D already, so the first term is D as it stands. The frontlog is lost (gr3 R12).
 */
static inline void gr3_leave(struct gr3 *s, u32 id, u64 now, enum why why)
{
	struct gr3_task *t = task_of(s, id);
	u32 G = t->group;
	u64 one = 1ull << ((G - 1) % GR3_GROUPS);

	if (!is_picked(&s->tasks, id))
		gr3_take(s, id);
	s->F_T -= t->F;
	t->F = 0;
	if (t->D > one)
		t->D = one;
	if (gr3_group(s, G)->k == id)
		gr3_group(s, G)->over = true;
	t->away = true;
	if (why == EXITED)
		gr3_remove(s, id);
}

/*
 * MP-SCHEDULE: first this CPU's frontlog, in turn (gr3 R7, R12). With no more clients than CPUs each has a
 * CPU of its own and the queue stands still (gr3 R13).
 */
static inline u32 gr3_pick(struct gr3 *s, u32 cpu, u64 now)
{
	u32 id = s->front[cpu & CPU_MASK];

	if (!s->longest)
		return 0;
	if (id) {
		gr3_take(s, id);
		task_of(s, id)->F--;
		s->F_T--;
		return id;
	}
	s->found = s->longest;
	if (s->tasks.nrunnable > s->tasks.ncpus)
		gr3_select(s);
	id = s->found;
	gr3_take(s, id);
	return id;
}

static inline void gr3_stop(struct gr3 *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->longest, id);
	if (task_of(s, id)->F)
		gr3_queue_frontlog(s, id, cpu_of(&s->tasks, id));
}
