/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Shards of a selection whose tasks have no tag that two machines can compare: published.h. Here the host knows all that placement needs, and asks
 * nothing of the policy. A shard's virtual time is its normalised service (placement R2): the service of its tasks over their
 * weight, whatever the selection. The first of its tasks is the one that has waited for longest. A task begins in another shard as a new one does.
 *
 * The weight of a task is the one that its shard was told: what the shard's own modifier makes of it does not count.
 */
#ifndef DIVVY_HOST_BY_SERVICE_H
#define DIVVY_HOST_BY_SERVICE_H

#include "lib/vtime.h"

#define PART_BITS 20

/* A shard counts this of each of its tasks. */
static u64 counted_weight[POOL];
static bool counted_serving[POOL];

/* The first slice in another shard is the selection's to grant: what a task runs before belongs to its next slice, as after a rescue. */
static __always_inline bool moves_at_once(void)
{
	return true;
}

/* ---- what a shard publishes ---- */

/* The virtual time follows what the shard served until now. */
static __always_inline void advance(struct published *p, u64 now)
{
	u64 elapsed = now - p->counted, w = p->weight, served, product, rest;

	if ((s64)elapsed <= 0)
		return;
	p->counted = now;
	served = elapsed * p->serving;
	if (!w || !served)
		return;
	product = (served < VTIME_RAN_MAX ? served : VTIME_RAN_MAX) * WEIGHT_NICE_0;
	p->v += product / w;
	rest = product % w;
	p->part += ((rest >> 10) << PART_BITS) / ((w >> 10) ?: 1);
	p->v += p->part >> PART_BITS;
	p->part &= (1ull << PART_BITS) - 1;
}

/* The virtual time at `now`, by this CPU's clock. No lock is held, so the numbers may be of different moments: enough to compare once, not to keep. */
static __always_inline u64 v_now(u32 shard, u64 now)
{
	const struct published *p = published_of(shard);
	s64 elapsed = now - p->counted;
	u64 served = (elapsed > 0 ? elapsed : 0) * p->serving, w = p->weight;

	return w ? p->v + (served < VTIME_RAN_MAX ? served : VTIME_RAN_MAX) * WEIGHT_NICE_0 / w : p->v;
}

/* Counts that the weight of a task changed, or whether a CPU runs it. Not inlined: many events come here. */
static NOINLINE void count_load(u32 shard, u32 id, u64 weight, bool serves)
{
	struct published *p = published_of(shard);

	advance(p, machine_at(shard)->now);
	p->weight += weight - counted_weight[id & POOL_MASK];
	p->serving += serves - counted_serving[id & POOL_MASK];
	counted_weight[id & POOL_MASK] = weight;
	counted_serving[id & POOL_MASK] = serves;
}

static __always_inline void note_load(u32 shard, u32 id)
{
	const struct task *t = machine_task(machine_at(shard), id);
	u64 weight = t->state & RUNNABLE ? t->nominal : 0;
	bool serves = t->state & ON_CPU;

	if (id && (weight != counted_weight[id & POOL_MASK] || serves != counted_serving[id & POOL_MASK]))
		count_load(shard, id, weight, serves);
}

static __always_inline void publish(u32 shard)
{
	struct published *p = published_of(shard);
	struct machine *m = machine_at(shard);

	p->runnable = m->s.tasks.nrunnable;
	p->first = machine_task(m, reachable[shard & SHARD_MASK].line)->nominal;
}

/* A task that goes on or is chosen again changes no load. */
static __always_inline void publish_dispatch(u32 shard, u32 chosen)
{
	advance(published_of(shard), machine_at(shard)->now);
	publish(shard);
}

/* ---- a task moves, or wakes ---- */

static __always_inline void take_lag_along(struct machine *m, u32 id)
{
}

/* The least virtual time of a shard that has tasks, if there is one: as its lock's holder counted it, since it is kept; and the weight of all */
static NOINLINE void find_slowest_of_all(struct survey *x)
{
	x->has_v = false;
	x->weight = 0;
	for (x->at = 0; x->at < shards.n && can_loop; x->at++) {
		const struct published *p = published_of(x->at);

		x->weight += p->weight;
		if (p->runnable && (!x->has_v || precedes(p->v, x->v))) {
			x->v = p->v;
			x->has_v = true;
		}
	}
}

static __always_inline void look_before_joining(struct survey *x, u32 here)
{
	x->has_v = false;
	if (published_of(here)->runnable)
		return;
	find_slowest_of_all(x);
	x->latest = x->v + skew(x->weight);
}

/* It begins to have tasks: what passed while it had none is nobody's claim, and what it was ahead by, when others had none, nobody waited for. */
static __always_inline u64 tag_to_join(u32 shard, u32 id, const struct survey *x, u32 how)
{
	struct published *p = published_of(shard);

	if (!x->has_v || machine_at(shard)->s.tasks.nrunnable)
		return 0;
	if (precedes(p->v, x->v) || precedes(x->latest, p->v)) {
		p->v = precedes(p->v, x->v) ? x->v : x->latest;
		p->part = 0;
	}
	return 0;
}

static __always_inline u64 carried_tag(struct machine *m, u32 id, u64 own, u64 v, u32 how)
{
	return 0;
}

/* ---- which task a CPU takes ---- */

/* Whether a shard has no more to do for each CPU with a task of this weight than the other one has now (placement R3) */
static __always_inline bool takes_no_more_than(u32 here, u32 from, u64 weight)
{
	return (published_of(here)->weight + weight) * cpus_of(from) <= published_of(from)->weight * cpus_of(here);
}

/* The first in line of those that it may run */
static NOINLINE void search_line(struct machine *m, struct survey *x, u32 from, u32 cpu)
{
	u32 first = reachable[from & SHARD_MASK].line, id = first;

	for (x->at = 0; x->at < MOST_LOOKED_AT && id && can_loop; x->at++) {
		if (is_takeable(m, id, cpu)) {
			x->chosen = id;
			return;
		}
		id = ring_next(&line_links, id);
		id = id == first ? 0 : id;
	}
}

static __always_inline void find_takeable(struct survey *x, u32 from, u32 here, u32 cpu)
{
	struct machine *m = machine_at(from);

	x->chosen = 0;
	search_line(m, x, from, cpu);
	if (x->any && !x->chosen)
		find_any(m, x, from, here, cpu);
	else if (!x->any && x->chosen && !takes_no_more_than(here, from, machine_task(m, x->chosen)->nominal))
		x->chosen = 0;
}

/* The slowest shard with a task for this CPU, from which it may take the first in line. A shard's first task may be one that this CPU may not run: then
 * find_takeable looks once more. */
static NOINLINE void find_slowest(struct survey *x, u32 here)
{
	x->is_found = false;
	for (x->at = 0; x->at < shards.n && can_loop; x->at++) {
		u64 v = v_now(x->at, x->now);
		bool may_take = x->any ||
				(precedes(v, x->before) && takes_no_more_than(here, x->at, published_of(x->at)->first));

		if (x->at == here || !may_take || !has_waiting(x->at, here) || (x->is_found && !precedes(v, x->least)))
			continue;
		x->least = v;
		x->from = x->at;
		x->is_found = true;
	}
}

/* This shard is ahead of another one by more than the skew, or has nothing for this CPU. */
static __always_inline bool find_behind(struct survey *x, u32 here, u32 cpu, u32 ran_id, u64 now)
{
	x->any = !ran_id && !has_waiting(here, here);
	if (x->any && !shards.steal)
		return false;
	x->now = now;
	x->before = v_now(here, now) - skew(published_weight());
	find_slowest(x, here);
	return x->is_found;
}

#endif
