/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine: which CPU gets which task. Idle CPUs are promised, running tasks preempted, and tasks that were picked where
 * they cannot run are parked. */
#ifndef DIVVY_MACHINE_PLACE_H
#define DIVVY_MACHINE_PLACE_H

#include "weights.h"

/* ---- a slice ends ---- */

static inline void machine_unpick(struct machine *m, u32 id)
{
	struct task *t = machine_task(m, id);

	machine_end_sum(m, id);
	if (t->state & PARKED)
		machine_unpark(m, id);
	else if (m->s.tasks.picked[t->cpu & CPU_MASK] == id)
		m->s.tasks.picked[t->cpu & CPU_MASK] = 0;
	t->state &= ~(PICKED | PARKED);
}

/* Its slice is over: back to the policy. */
static inline void machine_stop(struct machine *m, u32 id, u64 now, enum why why)
{
	machine_settle(m, id, now);
	machine_owners_had(m, id);
	machine_unpick(m, id);
	if (!machine_is_apart(m, id))
		CALL(stop)(&m->s, id, now, why);
}

/* ---- promises ---- */

/* Promises a task an idle CPU, the one where it ran last if that is idle; NO_CPU if there is none. */
static inline u32 machine_wake_idle(struct machine *m, u32 id)
{
	u32 last = machine_task(m, id)->cpu;

	if (!machine_any_idle(m))
		return NO_CPU;
	m->found = last;
	if (last >= m->s.tasks.ncpus || !machine_may_run(m, id, last) || !machine_is_idle(m, last)) {
		m->at = m->s.tasks.zero;
		machine_find_idle(m, id);
		if (m->found == NO_CPU)
			return NO_CPU;
	}
	machine_set_idle(m, m->found, 0);
	m->promised[m->found & CPU_MASK] = id;
	return m->found;
}

/* ---- preemption ---- */

#if HAS(PREEMPTS)
/* The policy does not know tasks apart: one of these preempts what is ahead of it by a turn, and is preempted so. */
static inline bool machine_preempts(struct machine *m, u32 woken, u32 running, u64 now)
{
	if (machine_is_apart(m, woken) || machine_is_apart(m, running))
		return (s64)(machine_key(m, running) - machine_key(m, woken) - machine_stride(m, woken)) > 0;
	return CALL(preempts)(&m->s, woken, running, now);
}

/* A CPU whose task gives way to one that just joined, into found. Where the slice is to end already, the CPU will
 * choose anew: of tasks that wake together each takes another. It is the first by number that gives way, not the one
 * that should most: the contract does not compare running tasks with each other. */
static NOINLINE void machine_find_preemptible(struct machine *m, u32 woken, u64 now)
{
	while (m->at < m->s.tasks.ncpus && can_loop) {
		u32 running = m->s.tasks.picked[m->at & CPU_MASK];

		if (running && !m->why[m->at & CPU_MASK] && machine_may_run(m, woken, m->at)) {
			machine_settle(m, running, now);
			if (machine_preempts(m, woken, running, now)) {
				m->found = m->at;
				return;
			}
		}
		m->at++;
	}
}

static inline u32 machine_preempt(struct machine *m, u32 woken, u64 now)
{
	if (!POLICY_PREEMPTS_IF(&m->s))
		return NO_CPU;
	m->at = m->s.tasks.zero;
	m->found = NO_CPU;
	machine_find_preemptible(m, woken, now);
	if (m->found != NO_CPU)
		m->why[m->found & CPU_MASK] = PREEMPTED;
	return m->found;
}
#else
static inline u32 machine_preempt(struct machine *m, u32 woken, u64 now)
{
	return NO_CPU;
}
#endif

/* ---- parked tasks ---- */

/* The first task in line that this CPU can run, into found; what ran there and has a key is compared with others first. */
static NOINLINE void machine_go_along_line(struct machine *m, u32 cpu)
{
	while (m->at && can_loop) {
		if (!machine_is_taken(m, m->at) && machine_can_run(m, m->at, cpu)) {
			m->found = m->at;
			return;
		}
		m->at = ring_next(&m->parked.links, m->at);
		if (m->at == m->parking.first)
			return;
	}
}

static inline void machine_find_in_line(struct machine *m, u32 cpu)
{
	m->at = m->parking.first;
	if (m->at)
		machine_go_along_line(m, cpu);
}

/* The first of a class is found, or the task that the policy named, if that comes before it. */
static NOINLINE void machine_compare(struct machine *m, u32 cpu)
{
	u32 best = m->search.best;

	m->found = best;
	/* While no task is bound, those that wait for their tags go first. */
	if (!m->next || (POLICY_SHARES && !m->s.tasks.nbound))
		return;
	if (pile_of(&m->parked.piles, best) != FREE && machine_gives_way(m, m->next, cpu))
		return;
	if ((s64)(machine_key(m, m->next) - m->search.best_key) < 0)
		m->found = m->next;
}

#endif
