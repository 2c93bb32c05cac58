/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine: service is charged, and weights pass through the modifiers. Include a policy first. */
#ifndef DIVVY_MACHINE_WEIGHTS_H
#define DIVVY_MACHINE_WEIGHTS_H

#include "apart.h"

/* ns that a task ran since it came on its CPU; 0 if it is on none */
static inline u64 machine_ran(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);

	return t->state & ON_CPU && (s64)(now - t->since) > 0 ? now - t->since : 0;
}

/* uncharged_of_all counts a task while it runs in its slice, if the policy sees it. */
static inline void machine_begin_sum(struct machine *m, u32 id)
{
	struct task *t = machine_task(m, id);

	if (!POLICY_SUMS_UNCHARGED || (t->state & (PICKED | PARKED | ON_CPU)) != (PICKED | ON_CPU) ||
	    machine_is_apart(m, id))
		return;
	t->state |= SUMMED;
	m->s.tasks.nsummed++;
	m->s.tasks.summed += t->since + t->charged;
}

static inline void machine_end_sum(struct machine *m, u32 id)
{
	struct task *t = machine_task(m, id);

	if (!POLICY_SUMS_UNCHARGED || !(t->state & SUMMED))
		return;
	t->state &= ~SUMMED;
	m->s.tasks.nsummed--;
	m->s.tasks.summed -= t->since + t->charged;
}

/* A run has given the task `ran` ns so far. A slice is charged in full before it ends, and nothing after it: what a
 * task runs between the dispatch of the next and its own stopping is charged to its next slice. */
static inline void machine_charge(struct machine *m, u32 id, u64 ran, u64 now)
{
	struct task *t = machine_task(m, id);
	u64 due = ran - t->charged;

	if ((t->state & (PICKED | PARKED)) != PICKED || (s64)due <= 0)
		return;
	t->charged += due;
	t->turn += due;
	if (POLICY_SUMS_UNCHARGED && t->state & SUMMED)
		m->s.tasks.summed += due;
	machine_serve(m, id, due);
	if (!machine_is_apart(m, id))
		CALL(charge)(&m->s, id, due, now);
}

static NOINLINE void machine_charge_until(struct machine *m, u32 id, u64 now)
{
	machine_charge(m, id, now - machine_task(m, id)->since, now);
}

/* Charge what a running task received until now. */
static inline void machine_settle(struct machine *m, u32 id, u64 now)
{
	if (machine_task(m, id)->state & ON_CPU)
		machine_charge_until(m, id, now);
}

#ifdef MACHINE_ENTITLED
/* NOINLINE, so that the verifier goes on with one state after it: gr3 is refused otherwise. */
static NOINLINE void machine_entitle(struct machine *m, u32 id, u64 w, u64 now)
{
	if (machine_task(m, id)->state & RUNNABLE)
		entitled_reweigh(&m->entitled, &m->s.tasks, id, w, now);
}
#endif

static inline void machine_reweigh(struct machine *m, u32 id, u64 w, u64 now)
{
	struct task *t = machine_task(m, id);

	if (t->weight == w)
		return;
	if (machine_is_member(m, id)) {
		machine_settle(m, id, now);
		ENTITLED(machine_entitle(m, id, w, now);)
		if (!machine_only_weighs(m) && !machine_is_apart(m, id))
			CALL(reweigh)(&m->s, id, w, now);
	}
	t->weight = w;
	MACHINE_REWEIGHED(m, id);
}

/* A task's weight among the members of its group, or without groups before readjustment. Both of these divide by the same
 * number: with both, tfps does (groups R4). */
static inline u64 machine_wanted(struct machine *m, u32 id)
{
	u64 nominal = machine_task(m, id)->nominal;

	if (machine_has(m, TFPS))
		return tfps_weight(nominal, threads_of(&m->threads, machine_owner(m, id)), m->s.tasks.ncpus);
	if (machine_has(m, PROCFAIR))
		return procfair_weight(nominal, threads_of(&m->threads, machine_owner(m, id)));
	return nominal;
}

/* A task's weight before readjustment */
static inline u64 machine_asked(struct machine *m, u32 id)
{
	return machine_has(m, GROUPS) ? m->groups.phi[id & POOL_MASK] : machine_wanted(m, id);
}

/* A task's weight: readjusted, if it may run everywhere. A whole CPU is not too much for one that has few to choose from: what
 * it asks for, it asks of those who may run there. */
static inline u64 machine_granted(struct machine *m, u32 id)
{
	return machine_has(m, FEASIBLE) && !machine_class(m, id) ? feasible_weight(&m->feasible, id)
								 : machine_asked(m, id);
}

/* Its weight before readjustment may have changed. Inlined, as calls are deep below: at most 8 frames in BPF. */
static ALWAYS_INLINE void machine_reask(struct machine *m, u32 id, u64 now)
{
	if (!machine_has(m, FEASIBLE)) {
		machine_reweigh(m, id, machine_asked(m, id), now);
	} else if (machine_is_member(m, id)) {
		feasible_drop(&m->feasible, id);
		feasible_add(&m->feasible, id, machine_asked(m, id));
		if (!m->feasible.infeasible[id & POOL_MASK] || machine_class(m, id))
			machine_reweigh(m, id, m->feasible.phi[id & POOL_MASK], now);
	}
}

/* Its wanted weight may have changed. In a group, others' weights do as well, when all are worked out. */
static inline void machine_rewant(struct machine *m, u32 id, u64 now)
{
	if (!machine_has(m, GROUPS))
		machine_reask(m, id, now);
	else if (machine_is_member(m, id))
		groups_want(&m->groups, id, machine_wanted(m, id));
}

static NOINLINE void machine_visit_threads(struct machine *m, u64 now)
{
	m->threads.steps = 0;
	while (threads_has_due(&m->threads) && m->threads.steps < THREAD_STEPS && can_loop) {
		threads_visit(&m->threads);
		if (m->threads.at)
			machine_rewant(m, m->threads.at, now);
	}
}

/* A thread's part of its group changed. */
static NOINLINE void machine_regrant(struct machine *m, u32 id, u64 now)
{
	groups_grant(&m->groups, id);
	if (m->groups.phi[id & POOL_MASK] == m->groups.granted)
		return;
	m->groups.phi[id & POOL_MASK] = m->groups.granted;
	machine_reask(m, id, now);
}

/* Inlined for the same reason */
static ALWAYS_INLINE void machine_visit_group(struct machine *m, u64 now)
{
	if (m->groups.divides)
		groups_divide(&m->groups);
	if (m->groups.id)
		machine_regrant(m, m->groups.id, now);
}

static NOINLINE void machine_apply_groups(struct machine *m, u64 now)
{
	m->groups.steps = 0;
	while (groups_next(&m->groups) && can_loop)
		machine_visit_group(m, now);
}

/* Those that asked for more than a CPU, and then those that do now; who is both is told so. One loop, because the verifier follows
 * a reweigh at length. */
static NOINLINE void machine_reweigh_capped(struct machine *m, u64 now)
{
	struct feasible *f = &m->feasible;

	while (m->at < f->was + f->i && can_loop) {
		bool former = m->at < f->was;
		u32 id = former ? f->old[m->at & CPU_MASK] : f->set[(m->at - f->was) & CPU_MASK];

		keep_no_addresses(m);
		m->s.tasks.capped = former && f->infeasible[id & POOL_MASK] ? id : 0;
		if (!former || machine_is_member(m, id))
			machine_reweigh(m, id, machine_granted(m, id), now);
		m->at++;
	}
	m->s.tasks.capped = 0;
}

static ALWAYS_INLINE void machine_apply_feasible_inlined(struct machine *m, u64 now)
{
	if (feasible_stays(&m->feasible))
		return;
	feasible_readjust(&m->feasible);
	m->at = m->s.tasks.zero;
	machine_reweigh_capped(m, now);
}

static NOINLINE void machine_apply_feasible(struct machine *m, u64 now)
{
	machine_apply_feasible_inlined(m, now);
}

/* Weights that a change of earlier events made due */
static IN_PLACE bool machine_has_due(const struct machine *m)
{
	if (!machine_has(m, PROCFAIR | TFPS | GROUPS))
		return false;
	return (machine_has(m, PROCFAIR | TFPS) && threads_has_due(&m->threads)) ||
	       (machine_has(m, GROUPS) && groups_has_due(&m->groups));
}

/* The set of members or a wanted weight changed, or weights are due because one did. */
static IN_PLACE void machine_readjust(struct machine *m, u64 now)
{
	if (machine_has(m, PROCFAIR | TFPS))
		machine_visit_threads(m, now);
	if (machine_has(m, GROUPS))
		machine_apply_groups(m, now);
	if (machine_has(m, FEASIBLE))
		machine_apply_feasible(m, now);
}

/* The weights of the owner's threads are due: see machine_readjust. */
static inline void machine_count_thread(struct machine *m, u32 id, bool in)
{
	u32 owner = machine_owner(m, id);

	if (in)
		threads_add(&m->threads, owner, id);
	else
		threads_drop(&m->threads, owner, id);
}

/* Whether threads are counted, from their creation to their end or while they are runnable */
static IN_PLACE bool machine_counts(const struct machine *m, bool all)
{
	if (!machine_has(m, PROCFAIR | TFPS))
		return false;
	return !!(machine_has(m, TFPS) ? m->tfps.param.all : m->procfair.param.all) == all;
}

/* ---- members come and go ---- */

/* The modifiers count it from now on, and its weight is theirs. Inlined as well, here and below. */
static ALWAYS_INLINE void machine_count_in(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);

	if (!machine_weighs(m)) {
		t->weight = t->nominal;
		return;
	}
	if (machine_counts(m, false)) {
		machine_count_thread(m, id, true);
		machine_visit_threads(m, now);
	}
	if (machine_has(m, GROUPS)) {
		groups_add(&m->groups, id, machine_wanted(m, id));
		machine_apply_groups(m, now);
	}
	if (machine_has(m, FEASIBLE)) {
		feasible_add(&m->feasible, id, machine_asked(m, id));
		machine_apply_feasible(m, now);
	}
	t->weight = machine_granted(m, id);
}

/* The weights of the others follow with machine_readjust. */
static inline void machine_drop_member(struct machine *m, u32 id)
{
	machine_task(m, id)->state &= ~MEMBER;
	if (machine_has(m, FEASIBLE))
		feasible_drop(&m->feasible, id);
	if (machine_has(m, GROUPS))
		groups_drop(&m->groups, id);
	if (machine_counts(m, false))
		machine_count_thread(m, id, false);
}

static ALWAYS_INLINE void machine_count_out(struct machine *m, u32 id, u64 now)
{
	if (!machine_weighs(m)) {
		machine_task(m, id)->state &= ~MEMBER;
		return;
	}
	machine_drop_member(m, id);
	machine_readjust(m, now);
}

/* ---- weights, processes and groups change ---- */

static inline void machine_nominate(struct machine *m, u32 id, u64 weight)
{
	machine_task(m, id)->nominal = weight;
#if HAS(FORK)
	m->family[id & POOL_MASK].heaviest =
		m->family[id & POOL_MASK].heaviest > weight ? m->family[id & POOL_MASK].heaviest : weight;
#endif
}

static inline void machine_set_weight(struct machine *m, u32 id, u64 weight, u64 now)
{
	machine_nominate(m, id, weight);
	machine_rewant(m, id, now);
	machine_readjust(m, now);
}

/* The same in one of several machines, which has no modifier of weights but the policy's own, feasible. (One with a single CPU has none, and
 * nobody is in its set.) Calls are deep below that. */
static inline void machine_set_plain_weight(struct machine *m, u32 id, u64 weight, u64 now)
{
	machine_nominate(m, id, weight);
	if (POLICY_MODIFIERS & FEASIBLE) {
		machine_reask(m, id, now);
		machine_apply_feasible_inlined(m, now);
	} else {
		machine_reweigh(m, id, weight, now);
	}
}

/* Whether it is one of the threads that are counted now */
static inline bool machine_is_counted(struct machine *m, u32 id)
{
	if (machine_counts(m, true))
		return machine_task(m, id)->state & KNOWN;
	return machine_counts(m, false) && machine_is_member(m, id);
}

/* From now on it is a thread of another process. */
static inline void machine_set_process(struct machine *m, u32 id, u32 process, u64 now)
{
	if (machine_is_counted(m, id))
		machine_count_thread(m, id, false);
	machine_task(m, id)->process = process;
	if (machine_is_counted(m, id))
		machine_count_thread(m, id, true);
	machine_rewant(m, id, now);
	machine_readjust(m, now);
}

/* A group comes to be, below MAX_GROUPS and not ROOT, or has another weight; or, while it has no member, another
 * parent, which is not below it. Inlined, as calls are deep below. */
static ALWAYS_INLINE void machine_set_group(struct machine *m, u32 group, u32 parent, u64 weight, u64 now)
{
	machine_forget_group(m, group);
	groups_set(&m->groups, group, parent, weight);
	machine_readjust(m, now);
}

/* From now on it is in another group, or in none (ROOT). */
static inline void machine_enter_group(struct machine *m, u32 id, u32 group, u64 now)
{
	bool member = machine_has(m, GROUPS) && machine_is_member(m, id);

	if (machine_is_counted(m, id))
		machine_count_thread(m, id, false);
	if (member)
		groups_drop(&m->groups, id);
	m->groups.of[id & POOL_MASK] = groups_joined(&m->groups, group);
	if (member)
		groups_add(&m->groups, id, machine_wanted(m, id));
	if (machine_is_counted(m, id))
		machine_count_thread(m, id, true);
	machine_rewant(m, id, now);
	machine_readjust(m, now);
}

#endif
