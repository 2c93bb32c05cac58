/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Each shard publishes (placement R2), to be read without its lock: the least tag of those that wait in it, the least of all its
 * runnable tasks, and their weight. The holder of the lock writes it after each change. So it is as old as the time from a change to the end
 * of the critical section in which it happens, with one exception: a task that a CPU runs may have the least tag of its shard, and when it
 * leaves, `v` is that of the shard's last dispatch. Tasks that visit another shard, or are between two, are not counted.
 *
 * The policy is one that keeps those that wait in a heap by their tags.
 */
#ifndef DIVVY_HOST_PUBLISHED_H
#define DIVVY_HOST_PUBLISHED_H

#include "host/state.h"

#ifdef DIVVY_SHARDS

struct published {
	u64 least;   /* tag of a task that waits */
	u64 v;       /* tag of a runnable task */
	u64 weight;  /* of all runnable tasks */
	u32 waiting; /* whether there is such a task */
	u32 runnable;
} __attribute__((aligned(64)));

struct published published[MOST_SHARDS];

static __always_inline bool tag_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static __always_inline u64 later_tag(u64 a, u64 b)
{
	return tag_before(a, b) ? b : a;
}

/* A task that visits another shard, or has just gone off its CPU, is in the policy's heap and not in custody. At most as many as there are CPUs
 * are: with 5 of them the least of the others is among so many. */
#define MOST_LOOKED_AT 64

/* The first in custody among these, into best; its tag into best_key */
static NOINLINE void find_least(struct machine *m)
{
	m->search.best = 0;
	for (m->at = m->s.tasks.zero; m->at < m->s.waiting.n && m->at < MOST_LOOKED_AT && can_loop; m->at++) {
		const struct heap_slot *slot = &m->s.waiting.slot[m->at & (MOST_LOOKED_AT - 1)];

		if (machine_task(m, slot->id)->state & CUSTODY &&
		    (!m->search.best || tag_before(slot->key, m->search.best_key))) {
			m->search.best = slot->id;
			m->search.best_key = slot->key;
		}
	}
}

static __always_inline void find_waiting(struct machine *m)
{
	m->search.best = heap_first(&m->s.waiting);
	m->search.best_key = heap_first_key(&m->s.waiting);
	if (m->search.best && !(machine_task(m, m->search.best)->state & CUSTODY))
		find_least(m);
}

/* Under the shard's lock */
static __always_inline void publish(u32 shard)
{
	struct machine *m = machine_at(shard);
	struct published *p = &published[shard & SHARD_MASK];

	find_waiting(m);
	p->waiting = !!m->search.best;
	p->least = m->search.best_key;
	p->runnable = m->s.tasks.nrunnable;
	p->weight = m->entitled.total;
	if (p->waiting && (p->runnable == 1 || tag_before(p->least, p->v)))
		p->v = p->least;
}

/* Lowers v to the least tag of those that run. */
static NOINLINE void publish_running(struct machine *m, struct published *p)
{
	for (m->at = m->s.tasks.zero; m->at < m->s.tasks.ncpus && can_loop; m->at++) {
		u32 id = m->s.tasks.picked[m->at & CPU_MASK];

		if (id && tag_before(machine_tag(m, id), p->v))
			p->v = machine_tag(m, id);
	}
}

/* The same after a dispatch, when v may be a later one */
static __always_inline void publish_dispatch(u32 shard)
{
	struct machine *m = machine_at(shard);
	struct published *p = &published[shard & SHARD_MASK];

	publish(shard);
	p->v = p->waiting ? p->least : m->s.v + (1ull << 62);
	publish_running(m, p);
	if (p->v == m->s.v + (1ull << 62))
		p->v = m->s.v;
}

/* A CPU finds this when it looks at all that is published. */
struct survey {
	u64 v;      /* the least tag of a runnable task */
	u64 least;  /* of those that wait elsewhere */
	u64 weight; /* of all */
	u32 from;   /* where that waits */
	bool has_v;
	bool is_found;
	u32 at;
	u32 idle;   /* the best shard with an idle CPU for a task, or MOST_SHARDS */
	u32 best;   /* the best of all */
	u32 chosen; /* a task to take, or 0 */
	u64 chosen_tag;
	u64 left; /* of a walk: classes, */
	u32 node; /* where it is, */
	u32 done; /* and how many of the children it has seen */
} __attribute__((aligned(64)));

static struct survey surveys[MAX_CPUS];

/* That of this CPU, whose interrupts are off */
static __always_inline struct survey *survey_here(void)
{
	return &surveys[bpf_get_smp_processor_id() & CPU_MASK];
}

/* The lock is not held. */
static NOINLINE void look_around(struct survey *x, u32 here)
{
	x->has_v = x->is_found = false;
	x->weight = 0;
	for (x->at = 0; x->at < shards.n && can_loop; x->at++) {
		const struct published *p = &published[x->at & SHARD_MASK];

		x->weight += p->weight;
		if (p->runnable && (!x->has_v || tag_before(p->v, x->v))) {
			x->v = p->v;
			x->has_v = true;
		}
		if (p->waiting && x->at != here && (!x->is_found || tag_before(p->least, x->least))) {
			x->least = p->least;
			x->from = x->at;
			x->is_found = true;
		}
	}
}

#else
static __always_inline void publish(u32 shard)
{
}
#endif

#endif
