/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Before a CPU chooses, it compares, and takes a task of another shard that is behind (placement R3). A CPU that has nothing to run takes one
 * in any case (R5). It has the task dequeued there, as a rescue does, and runs it for a quantum: the task visits. What it runs is charged
 * when it moves, or in its next slice (published.h: moves_at_once).
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

/* Takes a task from a shard: any, or one that comes first (published.h). Returns its id, or 0. Inlined, as calls are deep below. */
static __always_inline u32 take_from(u32 from, s32 kernel_cpu, struct survey *x)
{
	u32 cpu = machine_cpu(kernel_cpu);
	struct event e = { .now = clock_ns() };
	struct bpf_spin_lock *lock = lock_of(from);
	struct host_task *t;

	if (!lock || cpu == NO_CPU)
		return 0;
	bpf_spin_lock(lock);
	find_takeable(x, from, shard_of_cpu(cpu), cpu);
	e.id = x->chosen;
	if (!e.id) {
		bpf_spin_unlock(lock);
		return 0;
	}
	tell(from, EVENT_dequeue, &e);
	t = host_task(e.id);
	t->move.is_visitor = true;
	t->sent_to = kernel_cpu + 1;
	t->dispatched = e.now;
	t->cut_ns = 0;
	visitor_on[cpu & CPU_MASK] = e.id;
	publish(from);
	bpf_spin_unlock(lock);
	log_event(from, EVENT_dequeue, &e, 0, 0, 0);
	take_cpu(cpu);
	return e.id;
}

/* Not static: the verifier checks it by itself. */
NOINLINE bool send_taken(u32 id, u64 slice, s32 kernel_cpu)
{
	struct event e = { .id = id, .slice = slice };

	return send(&e, kernel_cpu, &host_cpu(machine_cpu(kernel_cpu))->late);
}

/* Returns whether the CPU has now the task that it took, or that one is held: then the next one may come first as well. Its group may have a new period meanwhile: then it
 * is not held, and runs. */
static __always_inline bool has_taken_one(u32 id, s32 kernel_cpu)
{
	u32 cpu = machine_cpu(kernel_cpu), shard = shard_of(id);
	struct event e = { .id = id };
	bool held;

	if (!id)
		return false;
	e.slice = slice_in_crowd(shard, config.config.quantum);
	held = !admit_apart(&e, kernel_cpu) && hold_back(id, host_task(id)->sum_exec_limited, cpu);
	if (!held && send_taken(id, e.slice, kernel_cpu)) {
		count(COUNTS_OF(shard).taken);
		return true;
	}
	/* Or the kernel has taken it back. The CPU is not idle for anybody, so it is to ask again. */
	visitor_on[cpu & CPU_MASK] = 0;
	scx_bpf_kick_cpu(kernel_cpu, 0);
	return held;
}

/* Takes a task of the shard that is so many after this one, or if that is this one, of the shard that comes before this one and the task that ran until now,
 * if there is one. Returns its id, or 0. Both in one function, which the verifier checks by itself: so it is not static. */
NOINLINE u32 take_from_another(s32 kernel_cpu, u32 here, u32 after, u32 ran_id, u64 now)
{
	struct survey *x = survey_here();
	u32 from = here + after;

	if (after) {
		if (after >= shards.n)
			return 0;
		from = (from < shards.n ? from : from - shards.n) & SHARD_MASK;
		if (!has_waiting(from, here))
			return 0;
		x->any = true;
	} else {
		if (!find_behind(x, here, machine_cpu(kernel_cpu), ran_id, now))
			return 0;
		from = x->from & SHARD_MASK;
	}
	return take_from(from, kernel_cpu, x);
}

/* In the order of shards, from this one on: who looked before this, in another order, found nothing. */
static __always_inline void steal(s32 kernel_cpu, u32 here)
{
	bool has_one = !shards.steal;

	fence();
	for (u32 after = unknown_zero + 1; !has_one && after < shards.n && can_loop; after++)
		has_one = has_taken_one(take_from_another(kernel_cpu, here, after, 0, 0), kernel_cpu);
}

/* The visit that ended on each CPU, by the machine's number: what its dispatch tells of the task. Not on the stack, which calls are deep below. */
static struct ended_visit {
	struct event put, told; /* of the id 0: none did */
} ended_visits[MAX_CPUS];

static __always_inline struct ended_visit *ended_visit(u32 cpu)
{
	return &ended_visits[cpu & CPU_MASK];
}

/* The visit of a task ends that has moved already: it goes off its CPU. Returns whether it was there. Not static. */
NOINLINE bool end_visit_at_home(u32 id, u64 sum_exec)
{
	struct event e = { .id = id, .now = clock_ns() };
	u32 shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);
	bool stopped;

	if (!lock)
		return false;
	bpf_spin_lock(lock);
	stopped = tell_stopping(shard, &e, sum_exec);
	bpf_spin_unlock(lock);
	if (!stopped)
		return false;
	host_task(id)->move.is_visitor = false;
	host_task(id)->sum_exec_at_run = sum_exec;
	log_event(shard, EVENT_stopping, &e, e.amount, 0, 0);
	return true;
}

/* The visit of the task ends that ran on this CPU until now: it moves here, if it has not. One that should have moved, and could not, waits where the
 * kernel enqueues it; one whose groups are used up is held there. */
static __always_inline void end_visit(struct task_struct *prev, u32 cpu, u64 now)
{
	u32 id = stays_runnable(prev) ? id_of(prev) : 0, here = shard_of_cpu(cpu);
	struct ended_visit *v = ended_visit(cpu);

	v->put.id = 0;
	if (!id || !host_task(id)->move.is_visitor || (shard_of(id) == here) != moves_at_once() ||
	    !allowed_part(id, here) || !(task_in_machine(id)->state & RUNNABLE))
		return;
	if (moves_at_once()) {
		if (!end_visit_at_home(id, prev->se.sum_exec_runtime))
			return;
	} else {
		leave_shard(id, here, prev->se.sum_exec_runtime);
		come(id);
		arrive(id, HAS_MOVED | RUNS_HERE);
	}
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
	publish_dispatch(shard, chosen);
}

/* Without the lock: to put it in custody may have called an idle CPU. */
static __always_inline void log_ended_visit(u32 shard, u32 cpu, u32 chosen)
{
	struct ended_visit *v = ended_visit(cpu);

	if (!v->put.id)
		return;
	set_moving(moving_here(), 0);
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
	u32 ran_id = may_stay(prev, cpu) ? id_of(prev) : 0;

	change_visitor(cpu, 0);
	return has_taken_one(take_from_another(kernel_cpu, shard_of_cpu(cpu), 0, ran_id, now), kernel_cpu);
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
