/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine: a policy that shares by weight, and has no keys, does not see tasks that may not run everywhere. The machine
 * orders these by service over weight (start-time fair queueing). To compare, it keeps a tag for each task of the policy as well,
 * also while there is no other, so that none has a claim from that time.
 *
 * A task that the policy picks and that comes after one of a class, by its tag, waits until its tag is the least: it is FREE.
 */
#ifndef DIVVY_MACHINE_APART_H
#define DIVVY_MACHINE_APART_H

#include "owners.h"

/* Whether the machine has it instead of the policy for as long as it is runnable */
static inline bool machine_is_apart(struct machine *m, u32 id)
{
	return POLICY_SHARES && machine_is_taken(m, id);
}

#if POLICY_SHARES
static inline u64 machine_served(struct machine *m, u32 cpu)
{
	u32 runs = m->s.tasks.picked[cpu & CPU_MASK];

	return runs ? machine_key(m, runs) : m->apart.served[cpu & CPU_MASK];
}

/* The greatest tag that is served where the task may run, or was last, into best_key */
static NOINLINE void machine_find_served(struct machine *m, u32 id)
{
	while (m->at < m->s.tasks.ncpus && can_loop) {
		if (machine_may_run(m, id, m->at))
			machine_exceed(m, id, machine_served(m, m->at));
		m->at++;
	}
}

/* The virtual time where it joins: that of its class, or if nothing there is runnable, that of its quickest CPU. */
static NOINLINE void machine_find_join(struct machine *m, u32 id)
{
	const struct cpu_class *k = machine_level(m, id);

	m->search.best = 0;
	if (k->runnable) {
		m->search.best = k->last;
		m->search.best_key = k->time + k->offset;
		return;
	}
	m->at = m->s.tasks.zero;
	machine_find_served(m, id);
}

/* It has no claim from the time when it was away. A new one waits for a turn: else a task that forks and exits, again and
 * again, would always be first. */
static inline void machine_place_from(struct machine *m, u32 id, u64 time)
{
	u64 *tag = &machine_task(m, id)->tag;
	bool fresh = !*tag;

	if (fresh || (s64)(*tag - time) < 0)
		*tag = time;
	if (fresh)
		*tag += machine_stride(m, id);
}

/* Where nothing says a time, its own tag does. */
static NOINLINE void machine_find_place(struct machine *m, u32 id)
{
	machine_find_join(m, id);
	machine_place_from(m, id, m->search.best ? m->search.best_key : machine_task(m, id)->tag);
}

/* Tasks that may run everywhere join at the time of their class, 0, which is never moved on. */
static inline void machine_place(struct machine *m, u32 id)
{
	if (!machine_is_bound(m, id) && m->parking.class[0].runnable)
		machine_place_from(m, id, m->parking.class[0].time);
	else
		machine_find_place(m, id);
}

static ALWAYS_INLINE void machine_join(struct machine *m, u32 id, u64 now, enum why why)
{
	struct task *t = machine_task(m, id);
	bool seen = t->state & SEEN;

	if (machine_only_weighs(m))
		return;
	machine_place(m, id);
	t->state |= machine_is_bound(m, id) ? TAKEN : SEEN;
	if (!machine_is_bound(m, id))
		CALL(join)(&m->s, id, now, seen ? why : NEW);
}

static inline void machine_leave(struct machine *m, u32 id, u64 now, enum why why)
{
	if (!machine_only_weighs(m) && !machine_is_taken(m, id))
		CALL(leave)(&m->s, id, now, why);
	machine_task(m, id)->state &= ~TAKEN;
}

static inline void machine_serve(struct machine *m, u32 id, u64 ran)
{
	u64 weight = weight_of(&m->s.tasks, id);

	machine_task(m, id)->tag += weight == WEIGHT_NICE_0 ? ran : ran * WEIGHT_NICE_0 / weight;
}
#else
static ALWAYS_INLINE void machine_join(struct machine *m, u32 id, u64 now, enum why why)
{
	if (machine_only_weighs(m))
		return;
	machine_wait_for_owners(m, id, why);
	CALL(join)(&m->s, id, now, why);
}

static inline void machine_leave(struct machine *m, u32 id, u64 now, enum why why)
{
	if (!machine_only_weighs(m))
		CALL(leave)(&m->s, id, now, why);
}

static inline void machine_serve(struct machine *m, u32 id, u64 ran)
{
}
#endif

#endif
