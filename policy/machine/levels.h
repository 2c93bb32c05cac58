/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine: classes of a more crowded part of the machine fall behind others. How far is limited here. */
#ifndef DIVVY_MACHINE_LEVELS_H
#define DIVVY_MACHINE_LEVELS_H

#include "parking.h"

/* A claim that a task cannot use, where it may run, is kept up to so many of its turns. */
#define LAG_TURNS 32

/* Runnable tasks of each class are counted, and where it is: at its first task that waits, or else at the last that was served. */
static NOINLINE void machine_class_grows(struct machine *m, u32 id)
{
	struct cpu_class *k = machine_level(m, id);
	u32 class = machine_class(m, id);

	m->s.tasks.nbound += !!class;
	if (k->runnable++)
		return;
	m->parking.busy |= class ? machine_class_bit(class) : 0;
	k->last = id;
	k->last_key = k->time = machine_class_key(m, id);
	k->top_of = 0;
}

/* It has a class. */
static NOINLINE void machine_class_shrinks(struct machine *m, u32 id)
{
	m->s.tasks.nbound--;
	if (!--machine_level(m, id)->runnable)
		m->parking.busy &= ~machine_class_bit(machine_class(m, id));
}

/* Class 0, of tasks that may run everywhere, counts only where the machine has tags for them. Mostly others of it are runnable
 * already. Then it is a count. */
static inline void machine_class_joined(struct machine *m, u32 id)
{
	if (!POLICY_SHARES && !machine_is_bound(m, id))
		return;
	if (!machine_is_bound(m, id) && m->parking.class[0].runnable)
		m->parking.class[0].runnable++;
	else
		machine_class_grows(m, id);
}

static inline void machine_class_left(struct machine *m, u32 id)
{
	if (machine_is_bound(m, id))
		machine_class_shrinks(m, id);
	else if (POLICY_SHARES)
		m->parking.class[0].runnable--;
}

#if HAS(SHIFT) || POLICY_SHARES
/* The last tag that was served where tasks of this class may run. It only grows. */
static inline void machine_note_top(struct machine *m, struct cpu_class *k, u32 id, u64 key)
{
	if (k->top_of && (s64)(key - k->top) <= 0)
		return;
	k->top = key;
	k->top_of = id;
}

/* A task has one key in its class, and one among all. */
static inline void machine_note_keys(struct machine *m, struct cpu_class *k, u32 cpu, u64 class_key, u64 key)
{
	if ((s64)(class_key - k->time) > 0)
		k->time = class_key;
#if POLICY_SHARES
	m->apart.served[cpu & CPU_MASK] = key;
#endif
}

static inline void machine_note_served(struct machine *m, struct cpu_class *k, u32 id, u32 cpu, u64 class_key, u64 key)
{
	k->last = id;
	k->last_key = class_key;
	machine_note_keys(m, k, cpu, class_key, key);
}

/* The last of the classes that are below the tag that is served, into best. */
static NOINLINE void machine_look_below(struct machine *m, u32 served)
{
	u32 class = any_number(1 + lowest_bit(m->search.left));
	struct cpu_class *k = &m->parking.class[class % CLASS_SLOTS];
	u32 id = pile_first(&m->parked.piles, class);
	u64 key = id ? machine_head_key(m, class, id) : k->last_key + k->offset;

	m->search.left &= m->search.left - 1;
	if (m->search.here & machine_class_bit(class))
		machine_note_top(m, k, served, m->search.served);
	if ((s64)(key - m->search.served) >= 0)
		return;
	m->search.below |= machine_class_bit(class);
	if (m->search.best && (s64)(key - m->search.best_key) <= 0)
		return;
	m->search.best = id ? id : k->last;
	m->search.best_key = key;
}

static NOINLINE void machine_look_at_levels(struct machine *m, u32 served)
{
	while (m->search.left && can_loop)
		machine_look_below(m, served);
}

static NOINLINE void machine_lift(struct machine *m, u64 by)
{
	while (m->search.below && can_loop) {
		m->parking.class[any_number(1 + lowest_bit(m->search.below)) % CLASS_SLOTS].offset += by;
		m->search.below &= m->search.below - 1;
	}
}

/* The gap that stays between two tasks. A policy that does not order its tasks by tags may serve one before another that is
 * behind it by some turns: where it decides, the longer turn of the two counts. */
static NOINLINE void machine_find_width(struct machine *m, u32 behind, u32 ahead)
{
	u64 turn = machine_stride(m, behind), other = POLICY_SHARES ? machine_stride(m, ahead) : 0;

	m->search.wide = LAG_TURNS * (turn > other ? turn : other);
}

/* While all tasks may run everywhere there is no gap: only what is served is noted. */
static inline void machine_note_free(struct machine *m, u32 id, u32 cpu)
{
	u64 key = machine_tag(m, id);

	machine_note_keys(m, &m->parking.class[0], cpu, key, key);
}

static NOINLINE void machine_close_gap_to(struct machine *m, u32 id, u32 cpu)
{
	u64 gap;

	m->search.left = m->parking.busy;
	m->search.served = machine_key(m, id);
	machine_note_served(m, machine_level(m, id), id, cpu, machine_class_key(m, id), m->search.served);
	m->search.below = 0;
	m->search.best = 0;
	m->search.here = machine_may(m, cpu);
	machine_note_top(m, &m->parking.class[0], id, m->search.served);
	machine_look_at_levels(m, id);
	if (!m->search.best)
		return;
	gap = m->search.served - m->search.best_key;
	machine_find_width(m, m->search.best, id);
	if (gap > m->search.wide)
		machine_lift(m, gap - m->search.wide);
}

/*
 * Classes that share CPUs keep about the same tags, as each CPU serves the least that it may. Classes of a more crowded
 * part of the machine fall behind, for ever: so a gap between what is served here and all that is behind is closed, to two
 * turns of the tasks at both sides. Order on either side stays as it is.
 */
static inline void machine_close_gap(struct machine *m, u32 id, u32 cpu)
{
	if (m->s.tasks.nbound)
		machine_close_gap_to(m, id, cpu);
	else if (POLICY_SHARES)
		machine_note_free(m, id, cpu);
}

static NOINLINE void machine_set_on_level(struct machine *m, u32 id)
{
	const struct cpu_class *k = machine_level(m, id);
	u64 gap;

	if (!k->top_of)
		return;
	gap = k->top - machine_key(m, id);
	machine_find_width(m, id, k->top_of);
	if ((s64)gap > (s64)m->search.wide)
		machine_set_on(m, id, gap - m->search.wide);
}

/*
 * A task waits nowhere while a CPU where it may run serves a greater tag. So one that is behind all the same has run all the
 * time, and cannot use more: the claim would only drive others from the CPU that it happens to have.
 */
static inline void machine_keep_up(struct machine *m, u32 id)
{
	if (m->s.tasks.nbound)
		machine_set_on_level(m, id);
}
#else
static inline void machine_note_free(struct machine *m, u32 id, u32 cpu)
{
}

static inline void machine_close_gap(struct machine *m, u32 id, u32 cpu)
{
}

static inline void machine_keep_up(struct machine *m, u32 id)
{
}
#endif

#endif
