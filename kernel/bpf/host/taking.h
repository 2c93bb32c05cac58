/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Before a CPU chooses, it compares, and takes a task of another shard that is behind (placement R3). A CPU that has nothing to run takes one
 * in any case (R5). It has the task dequeued there, as a rescue does, and runs it for a quantum: the task visits. What it runs is charged
 * when it moves.
 *
 * No task that can be found (placement.md) waits while a CPU is idle on which it may run. A CPU that finds nothing says that it is idle, and then looks what others have
 * published; a task that finds no idle CPU in its shard is published, and then looks who is idle elsewhere. Between the two steps of each
 * there is a barrier, so one of them sees the other.
 */
#ifndef DIVVY_HOST_TAKING_H
#define DIVVY_HOST_TAKING_H

#include "host/crowd.h"
#include "host/moves.h"
#include "host/starvation.h"

#ifdef DIVVY_SHARDS

static __always_inline bool is_takeable(struct machine *m, u32 id, u32 cpu)
{
	return id && (machine_task(m, id)->state & (RUNNABLE | CUSTODY)) == (RUNNABLE | CUSTODY) && may_run(id, cpu);
}

/* The first by tag of those that it may run, into chosen */
static NOINLINE void search_heap(struct machine *m, struct survey *x, u32 cpu)
{
	for (x->at = 0; x->at < m->s.waiting.n && x->at < MOST_LOOKED_AT && can_loop; x->at++) {
		const struct heap_slot *slot = &m->s.waiting.slot[x->at & (MOST_LOOKED_AT - 1)];

		if (is_takeable(m, slot->id, cpu) && (!x->chosen || tag_before(slot->key, x->chosen_tag))) {
			x->chosen = slot->id;
			x->chosen_tag = slot->key;
		}
	}
}

/* One step through the heaps of classes of a shard's tasks, which may run on few CPUs of theirs: a node, or one of its children */
static NOINLINE void walk_once(struct machine *m, struct survey *x, u32 cpu)
{
	const struct pile_node *n = pile_node(&m->parked.piles, x->node);
	u32 side = x->done++;

	if (!x->node) {
		x->node = x->left ? pile_first(&m->parked.piles, any_number(1 + lowest_bit(x->left))) : 0;
		x->left &= x->left - 1;
		x->done = 0;
	} else if (side == 0 && is_takeable(m, x->node, cpu)) {
		x->chosen = x->node;
	} else if (side < 2 && n->child[side]) {
		x->node = n->child[side];
		x->done = 0;
	} else if (side >= 2) {
		x->done = 1 + (pile_node(&m->parked.piles, n->up)->child[1] == x->node);
		x->node = n->up;
	}
}

/* Any of them that this CPU may run. They have no order among shards. */
static NOINLINE void search_classes(struct machine *m, struct survey *x, u32 cpu)
{
	x->left = m->parking.waiting;
	x->node = 0;
	for (x->at = 0; x->at < 4 * MOST_LOOKED_AT && !x->chosen && x->left + x->node && can_loop; x->at++)
		walk_once(m, x, cpu);
}

static __always_inline void find_takeable(u32 from, struct survey *x, u32 cpu, bool any)
{
	struct machine *m = machine_at(from);
	u32 first = heap_first(&m->s.waiting);

	x->chosen = 0;
	if (is_takeable(m, first, cpu)) {
		x->chosen = first;
		x->chosen_tag = heap_first_key(&m->s.waiting);
		return;
	}
	search_heap(m, x, cpu);
	if (any && !x->chosen)
		x->chosen = find_reachable(from, shard_of_cpu(cpu));
	if (any && !x->chosen && m->parking.waiting)
		search_classes(m, x, cpu);
}

/* Takes a task from a shard, whose tag is before this one, or any. Returns whether the CPU has it now. Inlined, as calls are deep below. */
static __always_inline bool take_from(u32 from, s32 kernel_cpu, u64 before, bool any)
{
	u32 cpu = machine_cpu(kernel_cpu);
	struct event e = { .now = clock_ns() };
	struct survey *x = survey_here();
	struct bpf_spin_lock *lock = lock_of(from);
	struct host_task *t;

	if (!lock || cpu == NO_CPU)
		return false;
	bpf_spin_lock(lock);
	find_takeable(from, x, cpu, any);
	e.id = x->chosen;
	if (!e.id || (!any && !tag_before(x->chosen_tag, before))) {
		bpf_spin_unlock(lock);
		return false;
	}
	tell(from, EVENT_dequeue, &e);
	t = host_task(e.id);
	t->move.is_visitor = true;
	t->sent_to = kernel_cpu + 1;
	t->dispatched = e.now;
	t->cut_ns = 0;
	publish(from);
	bpf_spin_unlock(lock);
	log_event(from, EVENT_dequeue, &e, 0, 0, 0);
	count(COUNTS_OF(from).taken);
	e.slice = slice_in_crowd(config.config.quantum);
	visitor_on[cpu & CPU_MASK] = e.id;
	take_cpu(cpu);
	if (send(&e, kernel_cpu, &host_cpu(cpu)->late))
		return true;
	/* The kernel took it back meanwhile. The CPU is not idle for anybody, so it is to ask again. */
	visitor_on[cpu & CPU_MASK] = 0;
	scx_bpf_kick_cpu(kernel_cpu, 0);
	return false;
}

/* The same from the shard that is so many after this one. Not static: the verifier checks it by itself. */
NOINLINE bool steal_from(s32 kernel_cpu, u32 here, u32 after)
{
	u32 from = here + after;

	if (after >= shards.n)
		return false;
	from = (from < shards.n ? from : from - shards.n) & SHARD_MASK;
	if (!published[from].waiting && !machine_at(from)->parking.waiting && !find_reachable(from, here))
		return false;
	return take_from(from, kernel_cpu, 0, true);
}

/* In the order of shards, from this one on: nobody knows better. */
static __always_inline void steal(s32 kernel_cpu, u32 here)
{
	bool has_one = !shards.steal;

	fence();
#pragma unroll
	for (u32 after = 1; after < MOST_SHARDS; after++)
		has_one = has_one || steal_from(kernel_cpu, here, after);
}

/* Quanta in which all CPUs serve, as virtual time (placement: K) */
static __always_inline u64 skew(u64 weight)
{
	u64 ns = shards.skew_quanta * config.config.quantum * config.config.ncpus;

	return weight ? ns * (WEIGHT_NICE_0 >> 10) / ((weight >> 10) ?: 1) : 0;
}

/*
 * Returns whether the CPU has a task of another shard now, because the least tag there is less by more than the skew than the least here: of
 * those that wait, and of the task that ran until now, if there is one. Not static.
 */
NOINLINE bool take_behind(s32 kernel_cpu, u32 here, u32 ran_id, u64 now)
{
	struct survey *x = survey_here();
	u64 own = 0, before;
	bool has_own = false;

	look_around(x, here);
	if (!x->is_found)
		return false;
	if (published[here & SHARD_MASK].waiting) {
		own = published[here & SHARD_MASK].least;
		has_own = true;
	}
	if (ran_id) {
		u64 tag = tag_of(machine_of(ran_id), ran_id, machine_ran(machine_of(ran_id), ran_id, now));

		own = has_own && tag_before(own, tag) ? own : tag;
		has_own = true;
	}
	if (!has_own)
		return shards.steal && !machine_at(here)->parking.waiting && take_from(x->from, kernel_cpu, 0, true);
	before = own - skew(x->weight);
	return tag_before(x->least, before) && take_from(x->from, kernel_cpu, before, false);
}

/* The visit that ended on each CPU, by the machine's number: what its dispatch tells of the task. Not on the stack, which calls are deep below. */
static struct ended_visit {
	struct event put, told; /* of the id 0: none did */
} ended_visits[MAX_CPUS];

static __always_inline struct ended_visit *ended_visit(u32 cpu)
{
	return &ended_visits[cpu & CPU_MASK];
}

/* The same for a CPU on which `prev` ran until now. Its visit ends: it moves here. */
static __always_inline void end_visit(struct task_struct *prev, u32 cpu, u64 now)
{
	u32 id = stays_runnable(prev) ? id_of(prev) : 0, here = shard_of_cpu(cpu);
	struct ended_visit *v = ended_visit(cpu);

	v->put.id = 0;
	if (!id || !host_task(id)->move.is_visitor || shard_of(id) == here || !allowed_part(id, here))
		return;
	leave_shard(id, here, prev->se.sum_exec_runtime);
	come(id);
	arrive(id, HAS_MOVED | RUNS_HERE);
	v->put.id = v->told.id = id;
	v->put.now = v->told.now = now;
}

/* Under the lock, before and after a dispatch that answers `chosen`: a task whose visit has ended here is in custody for just that, so no other
 * CPU can pick it while it runs. Then it is on its CPU already, or is not in custody before it is off it. */
static __always_inline void put_ended_visit(u32 shard, u32 cpu)
{
	if (ended_visit(cpu)->put.id)
		tell(shard, EVENT_enqueue, &ended_visit(cpu)->put);
}

static __always_inline void tell_dispatched(u32 shard, u32 cpu, u32 chosen)
{
	struct ended_visit *v = ended_visit(cpu);

	if (v->put.id && v->put.id == chosen)
		tell(shard, EVENT_running, &v->told);
	else if (v->put.id)
		tell(shard, EVENT_dequeue, &v->told);
	publish_dispatch(shard);
}

/* Without the lock: to put it in custody may have called an idle CPU. */
static __always_inline void log_ended_visit(u32 shard, u32 cpu, u32 chosen)
{
	struct ended_visit *v = ended_visit(cpu);

	if (!v->put.id)
		return;
	kick(shard, v->put.cpu);
	log_event(shard, EVENT_enqueue, &v->put, 0, 0, 0);
	log_event(shard, v->put.id == chosen ? EVENT_running : EVENT_dequeue, &v->told, 0, 0, 0);
}

/* Whether a machine has it as runnable, and it may go on here. One that ran while the scheduler was loaded is in none. */
static __always_inline bool may_stay(const struct task_struct *prev, u32 cpu)
{
	return stays_runnable(prev) && id_of(prev) && task_in_machine(id_of(prev))->state & RUNNABLE &&
	       may_run(id_of(prev), cpu);
}

static __always_inline bool dispatch_behind(s32 kernel_cpu, u32 cpu, struct task_struct *prev, u64 now)
{
	visitor_on[cpu & CPU_MASK] = 0;
	return take_behind(kernel_cpu, shard_of_cpu(cpu), may_stay(prev, cpu) ? id_of(prev) : 0, now);
}

#else
static __always_inline bool dispatch_behind(s32 kernel_cpu, u32 cpu, struct task_struct *prev, u64 now)
{
	return false;
}

static __always_inline void end_visit(struct task_struct *prev, u32 cpu, u64 now)
{
}

static __always_inline void put_ended_visit(u32 shard, u32 cpu)
{
}

static __always_inline void tell_dispatched(u32 shard, u32 cpu, u32 chosen)
{
}

static __always_inline void log_ended_visit(u32 shard, u32 cpu, u32 chosen)
{
}

static __always_inline void steal(s32 kernel_cpu, u32 here)
{
}
#endif

#endif
