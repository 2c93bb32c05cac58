/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gr3: group ratio round-robin. Clients of similar weight form a group; groups take turns in the ratio of
 * their weights, the clients of a group in a circle; nothing is sorted but the few groups.
 *
 * Caprita, Chan, Nieh, Stein, Zheng: "Group Ratio Round-Robin: O(1) Proportional Share Scheduling for
 * Uniprocessor and Multiprocessor Systems" (USENIX 2005), GR3 and GR3MP in one: papers/gr3.md.
 * Its weight readjustment (section 3.3) is weight/feasible.h, which comes with this policy.
 */
#include "gr3/frontlogs.h"
#include "gr3/groups.h"

#define POLICY_TITLE "group ratio round-robin: proportional shares in constant time"
#define POLICY_COUNTS_SLICES
#define POLICY_HAS REWEIGH | DISCARD
#define POLICY_SHARES 1

#define POLICY_MODIFIERS FEASIBLE
#define POLICY_SHOWS(V) V("deficit", "quanta/1000", gr3_shown_deficit(s, id)) V("frontlog", "quanta", task_of(s, id)->F)

static inline s64 gr3_shown_deficit(const struct gr3 *s, u32 id)
{
	const struct gr3_task *t = task_of(s, id);

	return t->group ? t->D * 1000 >> (t->group - 1) % GR3_GROUPS : 0;
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

/* It is out of the queue, and its frontlog is lost (gr3 R12). */
static inline void gr3_discard(struct gr3 *s, u32 id)
{
	struct gr3_task *t = task_of(s, id);

	s->F_T -= t->F;
	t->F = 0;
	t->away = false;
	gr3_take_out(s, id);
}

/*
 * INTERGROUP-SCHEDULE(): if (W_i + 1) / (W_{i+1} + 1) > Phi_i / Phi_{i+1}, then i = i + 1, else i = 1 (gr3 R3).
 * A client whose turn comes and that has not returned is removed, and the scan starts again (gr3 R6).
 */
static inline u32 gr3_intergroup(struct gr3 *s)
{
	u32 G = s->i ? s->i : s->group[0].next;
	struct gr3_group *g = gr3_group(s, G), *n;
	u32 id = gr3_intragroup(s, g, 1ull << ((G - 1) % GR3_GROUPS));

	if (task_of(s, id)->away) {
		gr3_discard(s, id);
		s->i = 0;
		return REMOVED | id;
	}
	g->W1 += GR3_QUANTUM;
	s->W_T++;
	n = gr3_group(s, g->next);
	s->i = g->next && wide_greater(g->W1, n->phi, n->W1, g->phi) ? g->next : 0;
	return id;
}

/* MP-SCHEDULE, lines 8 to 12: a client that is selected and runs already has a quantum to its credit (gr3 R7). */
static NOINLINE void gr3_select(struct gr3 *s)
{
	s->selections = s->tasks.zero;
	while (s->selections < GR3_SELECTIONS_MAX && s->removals < GR3_REMOVALS_MAX && can_loop) {
		u32 id = gr3_intergroup(s);

		if (id & REMOVED || !is_picked(&s->tasks, id)) {
			s->found = id;
			return;
		}
		gr3_add_frontlog(s, id, 1);
		s->selections++;
	}
	s->found = s->longest;
}

/* ---- the calls ---- */

static inline void gr3_reweigh(struct gr3 *s, u32 id, u64 w, u64 now)
{
	gr3_change_weight(s, id, w);
}

/* A client that returns before its turn goes on as if it had not been away (gr3 R6). */
static inline void gr3_join(struct gr3 *s, u32 id, u64 now, enum why why)
{
	struct gr3_task *t = task_of(s, id);

	if (t->away) {
		t->away = false;
	} else {
		gr3_insert(s, id, weight_of(&s->tasks, id));
		gr3_share_frontlog(s, id);
	}
	gr3_place_frontlog(s, id);
	ring_push_back(&s->waiting, &s->longest, id);
}

/*
 * D_C = min(D_C(r-1) + phi_C/phi_min - ceil(w), 1), and its turn is over (gr3 R6). Each selection has taken
 * a whole quantum from D already, so the first term is D as it stands.
 */
static inline void gr3_leave(struct gr3 *s, u32 id, u64 now, enum why why)
{
	struct gr3_task *t = task_of(s, id);
	u32 G = t->group;
	u64 one = 1ull << ((G - 1) % GR3_GROUPS);

	if (!is_picked(&s->tasks, id))
		gr3_take(s, id);
	if (t->D > one)
		t->D = one;
	if (gr3_group(s, G)->k == id)
		gr3_group(s, G)->over = true;
	t->away = true;
}

/*
 * MP-SCHEDULE: first this CPU's frontlog, in turn (gr3 R7, R12). On several CPUs, with no more runnable clients than
 * those, each has a CPU of its own and the queue stands still (gr3 R13).
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
	if (s->tasks.nrunnable > s->tasks.ncpus || s->tasks.ncpus == 1)
		gr3_select(s);
	id = s->found;
	if (id & REMOVED) {
		s->removals++;
		return id;
	}
	s->removals = 0;
	gr3_take(s, id);
	return id;
}

static inline void gr3_stop(struct gr3 *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->longest, id);
	if (task_of(s, id)->F)
		gr3_queue_frontlog(s, id, cpu_of(&s->tasks, id));
}
