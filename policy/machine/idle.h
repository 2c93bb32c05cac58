/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine: which CPUs are idle. */
#ifndef DIVVY_MACHINE_IDLE_H
#define DIVVY_MACHINE_IDLE_H

#include "state.h"

static inline bool machine_is_idle(const struct machine *m, u32 cpu)
{
	return m->idle.word[(cpu & CPU_MASK) / 64] >> (cpu % 64) & 1;
}

/* Where nothing changes, which is the common case, it is one test, or two. */
static inline void machine_set_idle(struct machine *m, u32 cpu, u64 idle)
{
	u64 *word = &m->idle.word[(cpu & CPU_MASK) / 64];

	if (!idle && !m->idle.words)
		return;
	if ((*word >> (cpu % 64) & 1) == idle)
		return;
	*word ^= 1ull << (cpu % 64);
	m->idle.words = (m->idle.words & ~(1ull << (cpu & CPU_MASK) / 64)) | (u64) !!*word << (cpu & CPU_MASK) / 64;
}

static inline bool machine_any_idle(const struct machine *m)
{
	return m->idle.words;
}

#ifdef __BPF__
/* An idle CPU where the task may run, into found: the first by number. */
static NOINLINE void machine_find_idle(struct machine *m, u32 id)
{
	m->found = NO_CPU;
	while (m->at < m->s.tasks.ncpus && can_loop) {
		if (machine_is_idle(m, m->at) && machine_may_run(m, id, m->at)) {
			m->found = m->at;
			return;
		}
		m->at++;
	}
}
#else
/* The same by words: of thousands of CPUs few are idle. */
static inline void machine_find_idle(struct machine *m, u32 id)
{
	const u64 *allowed = machine_task(m, id)->state & PINNED ? machine_allowed(m, id) : m->cpus.word;

	m->found = NO_CPU;
	for (u64 left = m->idle.words; left; left &= left - 1) {
		u32 at = lowest_bit(left);
		u64 may = m->idle.word[at] & allowed[at];

		if (may) {
			m->found = 64 * at + lowest_bit(may);
			return;
		}
	}
}
#endif

#endif
