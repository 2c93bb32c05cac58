/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine: tasks that may not run everywhere; docs/explanation/machine.md has the reasons and what it costs.
 *
 * Tasks with the same set of allowed CPUs are a class. Those that wait stand in a heap of their class: by the policy's own
 * key if it has one, by a tag of the machine if it shares by weight (apart.h), else in the order in which it picked them. So a
 * CPU looks at the first of each class that it may run, and never at other CPUs' tasks. Tasks that may run everywhere are in no
 * class: the policy keeps them.
 */
#ifndef DIVVY_MACHINE_PARKING_H
#define DIVVY_MACHINE_PARKING_H

#include "others.h"

/* A CPU does for a task soon if what it runs comes later by so many turns. */
#define CLEARLY_TURNS 16

/* ---- classes ---- */

static inline u32 machine_class(const struct machine *m, u32 id)
{
	return m->parked.of[id & POOL_MASK] % CLASS_SLOTS;
}

/* Whether it has one. Cheaper than to look at the class, as the state of a task is at hand. */
static inline bool machine_is_bound(const struct machine *m, u32 id)
{
	return m->s.tasks.task[id & POOL_MASK].state & PINNED;
}

static inline u64 machine_class_bit(u32 class)
{
	return 1ull << (class - 1) % 64;
}

static inline bool machine_same_cpus(const struct machine *m, const u64 *a, const u64 *b)
{
	u64 differ = 0;

	for (u32 i = 0; i < machine_words(m); i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

/* The class of these CPUs, or else one that has no tasks, or else OTHERS, into found. */
static NOINLINE void machine_find_class(struct machine *m, const struct allowed *cpus)
{
	while (m->at <= CLASSES && can_loop) {
		struct cpu_class *k = &m->parking.class[m->at % CLASS_SLOTS];

		if (!k->tasks && m->found == OTHERS)
			m->found = m->at;
		if (k->tasks && machine_same_cpus(m, k->cpus.word, cpus->word)) {
			m->found = m->at;
			return;
		}
		m->at++;
	}
}

/* Each CPU knows the classes that it may run. */
static NOINLINE void machine_tell_cpus(struct machine *m, u32 class)
{
	const struct allowed *cpus = &m->parking.class[class % CLASS_SLOTS].cpus;

	while (m->at < m->s.tasks.ncpus && can_loop) {
		u64 may = cpus->word[(m->at & CPU_MASK) / 64] >> (m->at % 64) & 1;
		u64 *classes = &m->parking.may[m->at & CPU_MASK];

		*classes = (*classes & ~machine_class_bit(class)) | may << (class - 1) % 64;
		m->at++;
	}
}

static inline bool machine_is_everywhere(const struct machine *m, const struct allowed *cpus)
{
	u64 missing = 0;

	for (u32 i = 0; i < machine_words(m); i++)
		missing |= m->cpus.word[i] & ~cpus->word[i];
	return !missing;
}

static NOINLINE void machine_leave_class(struct machine *m, u32 id)
{
	u32 class = machine_class(m, id);

	if (class)
		m->parking.class[class].tasks--;
	m->parked.of[id & POOL_MASK] = 0;
}

/* Where it may run */
static inline void machine_allow(struct machine *m, u32 id, const struct allowed *cpus)
{
	u64 *words = machine_allowed(m, id);

	for (u32 i = 0; i < machine_words(m); i++)
		words[i] = cpus->word[i];
}

/* The task is in no class and waits in none. */
static NOINLINE void machine_enter_class(struct machine *m, u32 id, const struct allowed *cpus)
{
	struct cpu_class *k;

	machine_allow(m, id, cpus);
	machine_task(m, id)->state &= ~PINNED;
	if (machine_is_everywhere(m, cpus))
		return;
	machine_task(m, id)->state |= PINNED;
	m->found = OTHERS;
	m->at = 1 + m->s.tasks.zero;
	machine_find_class(m, cpus);
	k = &m->parking.class[m->found % CLASS_SLOTS];
	m->parked.of[id & POOL_MASK] = m->found;
	m->parked.base[id & POOL_MASK] = k->offset;
	if (k->tasks++ || m->found == OTHERS)
		return;
	k->cpus = *cpus;
	m->at = m->s.tasks.zero;
	machine_tell_cpus(m, m->found);
}

/* ---- keys ---- */

/* Class 0 is that of the tasks that may run everywhere; their tags are never moved on. */
static inline struct cpu_class *machine_level(struct machine *m, u32 id)
{
	return &m->parking.class[machine_class(m, id)];
}

/* A task's tags are as they were when its class had this offset; now they count as so much more. */
static inline u64 machine_moved(const struct machine *m, u32 id)
{
	if (!machine_is_bound(m, id))
		return 0;
	return m->parking.class[machine_class(m, id)].offset - m->parked.base[id & POOL_MASK];
}

/* Its tags are of now. */
static inline void machine_rebase(struct machine *m, u32 id)
{
	if (!machine_is_bound(m, id))
		return;
#if POLICY_SHARES
	machine_task(m, id)->tag += machine_moved(m, id);
#endif
	m->parked.base[id & POOL_MASK] += machine_moved(m, id);
}

#if POLICY_SHARES
/* The tags are the machine's. */
static inline u64 machine_tag(struct machine *m, u32 id)
{
	return machine_task(m, id)->tag;
}

static inline void machine_set_on(struct machine *m, u32 id, u64 by)
{
	machine_task(m, id)->tag += by;
}
#else
static inline u64 machine_tag(struct machine *m, u32 id)
{
	return CALL(key)(&m->s, id);
}

/* Moves the tags of a task that runs, or has just run. */
static inline void machine_set_on(struct machine *m, u32 id, u64 by)
{
	CALL(detach)(&m->s, id);
	CALL(attach)(&m->s, id, by);
}
#endif

/* Its place in its class: the least is first. */
static inline u64 machine_class_key(struct machine *m, u32 id)
{
	return machine_tag(m, id) - (machine_is_bound(m, id) ? m->parked.base[id & POOL_MASK] : 0);
}

/* Its place among all tasks */
static NOINLINE u64 machine_key(struct machine *m, u32 id)
{
	return machine_tag(m, id) + machine_moved(m, id);
}

/* How far a turn moves its tag */
static inline u64 machine_stride(const struct machine *m, u32 id)
{
	return m->s.tasks.quantum * POLICY_TAG_SCALE(&m->s) * WEIGHT_NICE_0 / weight_of(&m->s.tasks, id);
}

/* ---- tasks that are picked and on no CPU ---- */

/* Whether the policy does not see it; with a policy that has no keys the verifier need not look at what follows. */
static inline bool machine_is_taken(struct machine *m, u32 id)
{
	return ORDERS_CLASSES && machine_task(m, id)->state & TAKEN;
}

/* Out of the policy's sight, if it has keys and the task a class */
static NOINLINE void machine_detach(struct machine *m, u32 id)
{
	if (!HAS(KEY) || !machine_is_bound(m, id))
		return;
	CALL(detach)(&m->s, id);
	machine_task(m, id)->state |= TAKEN;
}

/* Back into its sight: its tags are moved on as its class was. */
static NOINLINE void machine_attach(struct machine *m, u32 id)
{
	u64 moved = machine_moved(m, id);

	if (POLICY_SHARES)
		machine_rebase(m, id);
	if (POLICY_SHARES || !machine_is_taken(m, id))
		return;
	machine_rebase(m, id);
	machine_task(m, id)->state &= ~TAKEN;
	CALL(attach)(&m->s, id, moved);
}

static inline void machine_stand_in_class(struct machine *m, u32 id, u32 class)
{
	u64 key = machine_is_taken(m, id) || class == FREE ? machine_class_key(m, id) : m->parking.turn++;

	if (class != OTHERS) {
		pile_insert(&m->parked.piles, class, id, key);
		m->parking.waiting |= machine_class_bit(class);
		return;
	}
	others_insert(m, id, key);
}

/* Where its tag is compared with others', or 0 */
static inline u32 machine_stands_in(const struct machine *m, u32 id)
{
	u32 class = machine_class(m, id);

	if (!m->s.tasks.nbound)
		return 0;
	return class || !POLICY_SHARES ? class : FREE;
}

/* In its class, if a CPU can be given it; else it is first in line for when one can. */
static NOINLINE void machine_stand(struct machine *m, u32 id)
{
	u32 class = machine_stands_in(m, id);

	machine_task(m, id)->state |= PICKED | PARKED;
	if (class && machine_task(m, id)->state & CUSTODY)
		machine_stand_in_class(m, id, class);
	else
		ring_push_back(&m->parked.links, &m->parking.first, id);
}

static NOINLINE void machine_unstand(struct machine *m, u32 id)
{
	u32 class = pile_of(&m->parked.piles, id);

	if (!class) {
		ring_remove(&m->parked.links, &m->parking.first, id);
	} else if (class == OTHERS) {
		others_remove(m, id);
	} else {
		pile_remove(&m->parked.piles, id);
		if (!pile_first(&m->parked.piles, class))
			m->parking.waiting &= ~machine_class_bit(class);
	}
}

/* These two call one after the other what calls much by itself: frames are few in BPF. */
static ALWAYS_INLINE void machine_park(struct machine *m, u32 id)
{
	machine_detach(m, id);
	machine_stand(m, id);
}

static ALWAYS_INLINE void machine_unpark(struct machine *m, u32 id)
{
	machine_unstand(m, id);
	machine_attach(m, id);
}

static NOINLINE void machine_change_stand(struct machine *m, u32 id)
{
	if (!(machine_stands_in(m, id) | pile_of(&m->parked.piles, id)))
		return;
	machine_unstand(m, id);
	machine_stand(m, id);
}

/* It may have come into custody or out of it. */
static inline void machine_stand_anew(struct machine *m, u32 id)
{
	if (machine_task(m, id)->state & PARKED)
		machine_change_stand(m, id);
}

/* A task that may not run everywhere waits in its class from the start, if it has a key there, so that no CPU ever has to sort out
 * tasks of others. The same holds for one whose slice has just ended, until it is off its CPU. */
static inline bool machine_parks_early(struct machine *m, u32 id)
{
	return ORDERS_CLASSES && (machine_task(m, id)->state & (PINNED | PICKED)) == PINNED;
}

/* ---- the first that a CPU may run ---- */

static NOINLINE void machine_offer(struct machine *m, u32 id, u64 key)
{
	if (!id || (m->search.best && (s64)(key - m->search.best_key) >= 0))
		return;
	m->search.best = id;
	m->search.best_key = key;
}

/* The same for the last one */
static NOINLINE void machine_exceed(struct machine *m, u32 id, u64 key)
{
	if (m->search.best && (s64)(key - m->search.best_key) <= 0)
		return;
	m->search.best = id;
	m->search.best_key = key;
}

static inline u64 machine_head_key(struct machine *m, u32 class, u32 id)
{
	return pile_node(&m->parked.piles, id)->key + m->parking.class[class % CLASS_SLOTS].offset;
}

static NOINLINE void machine_offer_class(struct machine *m)
{
	u32 class = any_number(1 + lowest_bit(m->search.left));
	u32 id = pile_first(&m->parked.piles, class);

	m->search.left &= m->search.left - 1;
	machine_offer(m, id, machine_head_key(m, class, id));
}

/* Classes that may run there */
static inline u64 machine_may(const struct machine *m, u32 cpu)
{
	return m->parking.may[cpu & CPU_MASK] | (POLICY_SHARES ? machine_class_bit(FREE) : 0);
}

static NOINLINE void machine_offer_classes(struct machine *m)
{
	while (m->search.left && can_loop)
		machine_offer_class(m);
}

/* The first of the tasks of further masks */
static NOINLINE void machine_offer_others(struct machine *m, u32 cpu)
{
	others_find(m, cpu);
	if (m->at)
		machine_offer(m, m->at, machine_head_key(m, OTHERS, m->at));
}

/* Whether a CPU can run a task now: it may, and it has it. The task that runs there needs no custody; one that was
 * picked and taken back before it ran does. */
static inline bool machine_can_run(struct machine *m, u32 id, u32 cpu)
{
	u32 has = id == m->prev ? CUSTODY | ON_CPU : CUSTODY;

	return machine_may_run(m, id, cpu) && machine_task(m, id)->state & has;
}

/* Whether a CPU is idle, or what it runs comes clearly after best */
static NOINLINE bool machine_is_later(struct machine *m, u32 cpu)
{
	u32 id = m->s.tasks.picked[cpu & CPU_MASK];
	u64 clearly = CLEARLY_TURNS * machine_stride(m, m->search.best);

	return machine_is_idle(m, cpu) || (id && (s64)(machine_key(m, id) - m->search.best_key - clearly) > 0);
}

/* Whether there is such a CPU, where a task may run, into later */
static NOINLINE void machine_find_later(struct machine *m, u32 id, u32 cpu)
{
	while (m->at < m->s.tasks.ncpus && can_loop) {
		if (m->at != cpu && machine_may_run(m, id, m->at) && machine_is_later(m, m->at)) {
			m->search.later = true;
			return;
		}
		m->at++;
	}
}

/*
 * A task may come before another one, which has fewer CPUs to choose from, and find one that does for it soon: there it
 * comes before a task that comes after both. Then it gives way here.
 */
static inline bool machine_gives_way(struct machine *m, u32 id, u32 cpu)
{
	m->search.later = false;
	if (POLICY_PER_CPU_IF(&m->s))
		return false;
	m->at = m->s.tasks.zero;
	machine_find_later(m, id, cpu);
	return m->search.later;
}

/* Sets best, which is 0 before, to the first of all classes that may run there; also of the one that ran there, if it stepped aside. */
static NOINLINE void machine_find_best(struct machine *m, u32 cpu)
{
	u32 prev = m->prev;

	m->search.left = m->parking.waiting & machine_may(m, cpu);
	if (m->search.left)
		machine_offer_classes(m);
	if (others_root(m))
		machine_offer_others(m, cpu);
	if (!machine_is_taken(m, prev) || !machine_can_run(m, prev, cpu))
		return;
	if (!m->search.best || !machine_gives_way(m, prev, cpu))
		machine_offer(m, prev, machine_key(m, prev));
}

#endif
