/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Shards of a selection whose tags two machines can compare: published.h. A shard publishes the least tag of those that wait in it, and that of those and
 * of the tasks that its CPUs run: `v`. What a task runs counts from the end of its slice at the latest. A task that runs or moves without its shard's policy is not
 * in that: who asks for v looks at the CPUs for such tasks. A task takes its tag along.
 */
#ifndef DIVVY_HOST_BY_TAG_H
#define DIVVY_HOST_BY_TAG_H

static __always_inline bool moves_at_once(void)
{
	return false;
}

static __always_inline void note_load(u32 shard, u32 id)
{
}

/* ---- what a shard publishes ---- */

/* The first in custody among so many, into best; its tag into best_key. A task that visits another shard, or has just gone off its CPU, waits for
 * the policy and is not in custody. At most as many as there are CPUs are: with 5 of them the least of the others is among so many. */
static NOINLINE void find_least(struct machine *m)
{
	m->search.best = 0;
	for (m->at = m->s.tasks.zero; m->at < CALL(nwaiting)(&m->s) && m->at < MOST_LOOKED_AT && can_loop; m->at++) {
		const struct tagged t = CALL(waiting)(&m->s, m->at & (MOST_LOOKED_AT - 1));

		if (machine_task(m, t.id)->state & CUSTODY &&
		    (!m->search.best || precedes(t.tag, m->search.best_key))) {
			m->search.best = t.id;
			m->search.best_key = t.tag;
		}
	}
}

static __always_inline void find_waiting(struct machine *m)
{
	const struct tagged first = CALL(waiting)(&m->s, 0);

	m->search.best = CALL(nwaiting)(&m->s) ? first.id : 0;
	m->search.best_key = first.tag;
	if (m->search.best && !(machine_task(m, m->search.best)->state & CUSTODY))
		find_least(m);
}

/* The task with the least tag of those that the shard's CPUs run, and its tag */
static NOINLINE void find_running(struct machine *m, struct published *p)
{
	p->runs = 0;
	for (m->at = m->s.tasks.zero; m->at < m->s.tasks.ncpus && can_loop; m->at++) {
		u32 id = m->s.tasks.picked[m->at & CPU_MASK];

		if (id && (!p->runs || precedes(machine_tag(m, id), p->running))) {
			p->runs = id;
			p->running = machine_tag(m, id);
		}
	}
}

/* Whether it is still that one. */
static __always_inline bool runs_as_published(struct machine *m, const struct published *p)
{
	return (machine_task(m, p->runs)->state & (PICKED | PARKED)) == PICKED && machine_tag(m, p->runs) == p->running;
}

/* The least tag of those that wait for the policy and those that run. A shard without tasks has the tag of its last one. Others read v without the lock, so it
 * is written once, and before has_v. */
static __always_inline void publish_v(struct machine *m, struct published *p)
{
	bool waits = CALL(nwaiting)(&m->s);
	u64 v = CALL(waiting)(&m->s, 0).tag;

	if (p->runs && (!waits || precedes(p->running, v)))
		v = p->running;
	if (waits || p->runs)
		p->v = v;
	else if (!p->runnable)
		p->v = later_of(p->v, CALL(virtual_time)(&m->s));
	p->has_v = waits || p->runs;
}

static __always_inline void publish(u32 shard)
{
	struct machine *m = machine_at(shard);
	struct published *p = published_of(shard);

	find_waiting(m);
	p->waiting = !!m->search.best;
	p->least = m->search.best_key;
	p->runnable = m->s.tasks.nrunnable;
	p->weight = m->entitled.total;
	if (p->runs && !runs_as_published(m, p))
		find_running(m, p);
	publish_v(m, p);
}

/* The same after a dispatch that chose this task, or none (0) */
static __always_inline void publish_dispatch(u32 shard, u32 chosen)
{
	struct machine *m = machine_at(shard);
	struct published *p = published_of(shard);
	u64 tag = machine_tag(m, chosen);

	if (chosen && (!p->runs || precedes(tag, p->running))) {
		p->runs = chosen;
		p->running = tag;
	}
	publish(shard);
}

static NOINLINE void look_around(struct survey *x, u32 here)
{
	x->is_found = false;
	x->weight = 0;
	for (x->at = 0; x->at < shards.n && can_loop; x->at++) {
		const struct published *p = published_of(x->at);

		x->weight += p->weight;
		if (p->waiting && x->at != here && (!x->is_found || precedes(p->least, x->least))) {
			x->least = p->least;
			x->from = x->at;
			x->is_found = true;
		}
	}
}

/* ---- a task moves, or wakes ---- */

/* Under its shard's lock: its tag, with `ran` ns that it received since it came on its CPU */
static __always_inline u64 tag_of(struct machine *m, u32 id, u64 ran)
{
	const struct task *t = machine_task(m, id);
	s64 due = ran - t->charged;
	u64 weight = t->weight;

	return machine_key(m, id) + (due > 0 && weight ? due * WEIGHT_NICE_0 / weight : 0);
}

static __always_inline void take_lag_along(struct machine *m, u32 id)
{
	struct host_move *move = &host_task(id)->move;

	move->tag = tag_of(m, id, 0);
	move->debit = host_task(id)->was_runnable ? 0 : debit_of(&m->s.tasks, id);
}

static __always_inline void lower_v(struct survey *x, u64 tag)
{
	if (!x->has_v || precedes(tag, x->v))
		x->v = tag;
	x->has_v = true;
}

/* Those that wait and run in all shards count. */
static NOINLINE void find_v_of_shards(struct survey *x)
{
	for (x->at = 0; x->at < shards.n && can_loop; x->at++) {
		const struct published *p = published_of(x->at);

		x->latest = later_of(x->latest, p->v);
		if (p->has_v)
			lower_v(x, p->v);
	}
}

/* A task that a CPU runs although its shard's policy did not pick it counts, and also when it is back with its policy: its tag is right as long as it is runnable. One that
 * has just joined its machine may not have its tag there yet. */
static __always_inline void lower_v_to_visitor(struct survey *x, u32 id)
{
	struct machine *m = machine_of(id);

	if (id && (machine_task(m, id)->state & (RUNNABLE | FRESH)) == RUNNABLE)
		lower_v(x, machine_key(m, id));
}

/* Such tasks count, and those that CPUs move. */
static NOINLINE void find_v_of_cpus(struct survey *x)
{
	for (x->at = 0; x->at < config.config.ncpus && can_loop; x->at++) {
		u32 moves = moving_on[config.kernel_cpu[x->at & CPU_MASK] & CPU_MASK];

		lower_v_to_visitor(x, visitor_on[x->at & CPU_MASK]);
		lower_v_to_visitor(x, visitor_before[x->at & CPU_MASK]);
		if (moves)
			lower_v(x, host_task(moves)->move.tag);
	}
}

/* v: the least tag of all that are runnable; if nobody is, the latest of those that were last. A task that leaves a shard before the first look there, and comes to
 * another one after it, is seen on the CPU that moves it, or in the second look. */
static __always_inline void look_before_joining(struct survey *x, u32 here)
{
	if (!(x->how & IS_WOKEN))
		return;
	x->has_v = false;
	x->latest = published_of(here)->v;
	find_v_of_shards(x);
	fence();
	find_v_of_cpus(x);
	fence();
	find_v_of_shards(x);
	if (!x->has_v)
		x->v = x->latest;
}

static __always_inline u64 tag_to_join(u32 shard, u32 id, const struct survey *x, u32 how)
{
	return how & HAS_MOVED ? host_task(id)->move.tag : tag_of(machine_at(shard), id, 0);
}

static __always_inline u64 carried_tag(struct machine *m, u32 id, u64 own, u64 v, u32 how)
{
	const struct host_move *move = &host_task(id)->move;
	u64 tag = how & IS_WOKEN ? later_of(move->has_no_tag ? v : own, v) : own;

	if (!(how & HAS_MOVED)) /* beside a debit, it is what the policy has made of it */
		return tag - later_of(own, CALL(virtual_time)(&m->s));
	return tag + move->debit * WEIGHT_NICE_0 / weight_of(&m->s.tasks, id) - machine_key(m, id);
}

/* ---- which task a CPU takes ---- */

/* The least tag elsewhere is less by more than the skew than the least here: of those that wait, and of the task that ran until now, if there is one.
 * If there is neither, any is taken. */
static __always_inline bool find_behind(struct survey *x, u32 here, u32 cpu, u32 ran_id, u64 now)
{
	const struct published *p = published_of(here);
	u64 own = p->least;

	look_around(x, here);
	if (!x->is_found)
		return false;
	x->any = !p->waiting && !ran_id;
	if (x->any)
		return shards.steal && !has_waiting(here, here);
	if (ran_id) {
		u64 tag = tag_of(machine_of(ran_id), ran_id, machine_ran(machine_of(ran_id), ran_id, now));

		own = p->waiting && precedes(own, tag) ? own : tag;
	}
	x->before = own - skew(x->weight);
	return precedes(x->least, x->before);
}

/* The first by tag of those that it may run */
static NOINLINE void search_by_tag(struct machine *m, struct survey *x, u32 cpu)
{
	for (x->at = 0; x->at < CALL(nwaiting)(&m->s) && x->at < MOST_LOOKED_AT && can_loop; x->at++) {
		const struct tagged t = CALL(waiting)(&m->s, x->at & (MOST_LOOKED_AT - 1));

		if (is_takeable(m, t.id, cpu) && (!x->chosen || precedes(t.tag, x->chosen_tag))) {
			x->chosen = t.id;
			x->chosen_tag = t.tag;
		}
	}
}

static __always_inline void find_takeable(struct survey *x, u32 from, u32 here, u32 cpu)
{
	struct machine *m = machine_at(from);
	const struct tagged first = CALL(waiting)(&m->s, 0);

	x->chosen = 0;
	if (CALL(nwaiting)(&m->s) && is_takeable(m, first.id, cpu)) {
		x->chosen = first.id;
		x->chosen_tag = first.tag;
	} else {
		search_by_tag(m, x, cpu);
	}
	if (x->any && !x->chosen)
		find_any(m, x, from, here, cpu);
	else if (!x->any && !precedes(x->chosen_tag, x->before))
		x->chosen = 0;
}

#endif
