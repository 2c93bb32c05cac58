/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine: what programs and groups received before it was due. A thread joins at virtual time, which does not go on while tasks
 * begin there. So if the threads of a program run one after the other, each for a slice, all of them have a turn before others
 * have their second, and by the weight of the few that are runnable at a time.
 *
 * So a program, and each group, has a time of its own, as a node of hierarchical start-time fair queueing has (Goyal, Guo, Vin: "A
 * Hierarchical CPU Scheduler for Multimedia Operating Systems", OSDI 1996): it goes on with all service of its threads, over the weight
 * of all. A thread that wakes begins there, if that is later than virtual time (procfair R4, groups R11). A new one owes its debit
 * instead (family.h). Service that nobody waited for does not count. With groups, only these have such a time, and programs do not.
 */
#ifndef DIVVY_MACHINE_OWNERS_H
#define DIVVY_MACHINE_OWNERS_H

#include "levels.h"

/* The owner by which its threads are counted: its process, or if asked for its group, if it is in one */
static inline u32 machine_owner(struct machine *m, u32 id)
{
	s64 by_group = machine_has(m, TFPS) ? m->tfps.param.group : m->procfair.param.group;
	u32 group = m->groups.of[id & POOL_MASK] & GROUP_MASK;

	return by_group && group ? POOL + group : machine_task(m, id)->process;
}

#if HAS(VIRTUAL_TIME)
/* Whether somebody has a time of its own. Of several machines the one with the modifiers has no service, and no virtual time. */
static inline bool machine_has_owners(const struct machine *m)
{
#ifdef MACHINE_WITH_MODIFIERS
	return false;
#else
	return machine_has(m, PROCFAIR | TFPS | GROUPS);
#endif
}

/* An owner weighs the most that its threads ever did. So a slice of a light thread is not held against a heavy one for as long as the
 * light one would wait. Effective weights may still be old ones (procfair D4), so it is computed from nominal ones. */
static inline u64 machine_weight_of_owner(struct machine *m, u32 id, u32 owner)
{
	u64 weight = machine_task(m, id)->nominal, *most = &m->times.weight[owner & OWNER_MASK];
	u64 threads = threads_of(&m->threads, owner), cpus = m->s.tasks.ncpus;

	if (machine_has(m, TFPS) && threads > 1)
		weight *= threads < cpus ? threads : cpus;
	*most = weight > *most ? weight : *most;
	return *most;
}

/* Members of a group share its budget. It has none before it was divided for the first time. */
static inline u64 machine_weight_of_group(const struct group *g)
{
	u64 weight = g->budget >> BUDGET_SHIFT;

	return weight ? weight : WEIGHT_NICE_0;
}

static NOINLINE void machine_charge_groups(struct machine *m)
{
	struct owner_times *times = &m->times;

	while (times->group != ROOT && can_loop) {
		const struct group *g = &m->groups.group[times->group & GROUP_MASK];

		vtime_advance(&times->of_group[times->group & GROUP_MASK], times->due, machine_weight_of_group(g));
		times->group = g->parent;
	}
}

/* A slice ends, or its thread leaves. */
static NOINLINE void machine_charge_owners(struct machine *m, u32 id)
{
	u64 due = turn_of(&m->s.tasks, id) * POLICY_TAG_SCALE(&m->s);

	if (machine_has(m, GROUPS)) {
		m->times.group = m->groups.of[id & POOL_MASK];
		m->times.due = due;
		machine_charge_groups(m);
	} else {
		u32 owner = machine_owner(m, id);

		vtime_advance(&m->times.of[owner & OWNER_MASK], due, machine_weight_of_owner(m, id, owner));
	}
}

/* Service counts if somebody may wait for it. A task that is bound may wait while a CPU is idle. */
static inline void machine_owners_had(struct machine *m, u32 id)
{
	bool waits = m->s.tasks.nrunnable > m->s.tasks.ncpus || m->s.tasks.nbound;

	if (machine_has_owners(m) && waits && (machine_task(m, id)->state & (PICKED | PARKED)) == PICKED)
		machine_charge_owners(m, id);
}

/* Where tasks are bound to CPUs, or weights are not feasible, an owner may be ahead by service that others could not have used. So its
 * lead is limited there, to as much as a claim of such tasks is kept for. */
static inline u64 machine_most_ahead(struct machine *m)
{
	bool feasible = m->s.tasks.ncpus == 1 || machine_has(m, GROUPS | FEASIBLE);
	u64 most = LAG_TURNS * m->s.tasks.ncpus * POLICY_TAG_SCALE(&m->s);

	if ((feasible && !m->s.tasks.nbound) || POLICY_LONGEST_SLICE(&m->s) > VTIME_RAN_MAX / most)
		return VTIME_RAN_MAX;
	return POLICY_LONGEST_SLICE(&m->s) * most;
}

/* An owner that is behind is moved to virtual time: it saves nothing up. */
static inline void machine_find_ahead_of(struct owner_times *times, struct vtime *t, u64 weight)
{
	u64 most = times->most * WEIGHT_NICE_0 / weight;

	vtime_raise(t, times->v);
	if (t->v - times->v > most)
		*t = (struct vtime){ .v = times->v + most };
	if (t->v - times->v > times->ahead)
		times->ahead = t->v - times->v;
}

static NOINLINE void machine_find_ahead_of_groups(struct machine *m)
{
	struct owner_times *times = &m->times;

	while (times->group != ROOT && can_loop) {
		const struct group *g = &m->groups.group[times->group & GROUP_MASK];

		machine_find_ahead_of(times, &times->of_group[times->group & GROUP_MASK], machine_weight_of_group(g));
		times->group = g->parent;
	}
}

static NOINLINE void machine_find_ahead(struct machine *m, u32 id)
{
	m->times.v = CALL(virtual_time)(&m->s);
	m->times.ahead = 0;
	m->times.most = machine_most_ahead(m);
	if (machine_has(m, GROUPS)) {
		m->times.group = m->groups.of[id & POOL_MASK];
		machine_find_ahead_of_groups(m);
	} else {
		u32 owner = machine_owner(m, id);

		machine_find_ahead_of(&m->times, &m->times.of[owner & OWNER_MASK],
				      machine_weight_of_owner(m, id, owner));
	}
	machine_task(m, id)->ahead = m->times.ahead;
}

/* Before a task joins: how far its program or its groups are ahead of virtual time, the greatest of these leads. A new one owes its debit
 * instead (family.h). */
static inline void machine_wait_for_owners(struct machine *m, u32 id, enum why why)
{
	if (machine_has_owners(m) && why != NEW)
		machine_find_ahead(m, id);
}

/* A program's id, or a group's number, may have been another one's. */
static inline void machine_forget_owner(struct machine *m, u32 owner)
{
	if (!machine_has_owners(m))
		return;
	m->times.of[owner & OWNER_MASK] = (struct vtime){ .v = CALL(virtual_time)(&m->s) };
	m->times.weight[owner & OWNER_MASK] = 0;
}

/* A group without threads that is made, or gets another weight: who may set that may have what is around the group, and that stays. */
static inline void machine_forget_group(struct machine *m, u32 group)
{
	if (!machine_has_owners(m) || m->groups.group[group & GROUP_MASK].k)
		return;
	m->times.of_group[group & GROUP_MASK] = (struct vtime){ .v = CALL(virtual_time)(&m->s) };
	machine_forget_owner(m, POOL + (group & GROUP_MASK));
}
#else
static inline void machine_owners_had(struct machine *m, u32 id)
{
}

static inline void machine_wait_for_owners(struct machine *m, u32 id, enum why why)
{
}

static inline void machine_forget_owner(struct machine *m, u32 owner)
{
}

static inline void machine_forget_group(struct machine *m, u32 group)
{
}
#endif

#endif
