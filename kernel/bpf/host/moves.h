/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks move between shards (placement R4, R6). A task moves only while the lock of its kernel run queue is held: when it is enqueued, or
 * when the CPU dispatches on which it runs. So no op of the kernel that concerns the task comes in between. It leaves one machine
 * under that shard's lock, and comes to the other under that one's; a CPU holds one of them at a time, and waits for nothing in between.
 *
 * In between it is in flight: shard_of says where it goes, and that machine does not know it yet. What else may ask for the task then is not
 * an op of its run queue, and does without it: a command that sets its weight tells the machine to which the task came, if that has not found the
 * weight in host_task; the timer and other CPUs look for custody, which nobody has.
 *
 * A CPU that takes a task (taking.h) holds another run queue's lock. It has the task dequeued, and runs it: the task visits. It moves when it
 * is enqueued next, or when that CPU dispatches.
 */
#ifndef DIVVY_HOST_MOVES_H
#define DIVVY_HOST_MOVES_H

#include "host/attributes.h"
#include "host/published.h"
#include "host/shard_cpus.h"
#include "host/stopping.h"
#include "host/taken_cpus.h"

#ifdef DIVVY_SHARDS

/* ---- where a task wakes ---- */

static __always_inline bool is_less_loaded(u32 shard, u32 other, u64 more)
{
	u64 weight = published_of(shard)->weight + more, others = published_of(other)->weight + more;

	return weight * cpus_of(other) < others * cpus_of(shard);
}

static __always_inline u64 idle_for(u32 id, u32 shard)
{
	return machine_at(shard)->idle.word[0] & allowed_part(id, shard);
}

/* Into idle and best; these are the task's last shard, if that is as good. */
static NOINLINE void find_place(struct survey *x, u32 id, u64 weight)
{
	for (x->at = 0; x->at < shards.n && can_loop; x->at++) {
		if (!allowed_part(id, x->at))
			continue;
		if (x->best == MOST_SHARDS || is_less_loaded(x->at, x->best, weight))
			x->best = x->at;
		if (idle_for(id, x->at) && (x->idle == MOST_SHARDS || is_less_loaded(x->at, x->idle, weight)))
			x->idle = x->at;
	}
}

/* The lock is not held. */
NOINLINE u32 shard_to_wake_in(u32 id, u32 last)
{
	struct survey *x = survey_here();

	if (idle_for(id, last))
		return last;
	x->idle = MOST_SHARDS;
	x->best = allowed_part(id, last) ? last : MOST_SHARDS;
	find_place(x, id, weight_to_tell(id));
	return (x->idle < MOST_SHARDS ? x->idle : x->best < MOST_SHARDS ? x->best : last) & SHARD_MASK;
}

/* ---- a task begins to wait while no CPU of its shard is idle (placement R5) ---- */

/* The task that asked each CPU, by the machine's number, or 0 */
static u32 callers[MAX_CPUS];

/* If a CPU of the shard is idle where the task may run, it is not any more, and was asked for this task. Not static: the verifier checks it by itself. */
NOINLINE bool claim(u32 id, u32 shard)
{
	u64 idle = idle_for(id, shard);
	u32 local = lowest_bit(idle);
	struct event e = { .cpu = local, .now = clock_ns() };
	struct bpf_spin_lock *lock = lock_of(shard);

	if (!lock || !idle)
		return false;
	bpf_spin_lock(lock);
	if (!machine_is_idle(machine_at(shard), local)) {
		bpf_spin_unlock(lock);
		return false;
	}
	tell(shard, EVENT_take_cpu, &e);
	callers[global_cpu(shard, local) & CPU_MASK] = id;
	bpf_spin_unlock(lock);
	log_event(shard, EVENT_take_cpu, &e, 0, 0, local);
	kick(shard, e.cpu);
	scx_bpf_kick_cpu(config.kernel_cpu[global_cpu(shard, local) & CPU_MASK], SCX_KICK_IDLE);
	count(stats.kicks);
	return true;
}

/* Asks an idle CPU of another shard to dispatch. It will take the task if it finds it, or one that comes before it. */
NOINLINE int call_idle(u32 id, u32 by)
{
	struct survey *x = survey_of(by);

	/* Others must see what this CPU has published before it looks who is idle: taking.h. */
	fence();
	for (x->at = 0; x->at < shards.n && can_loop; x->at++)
		if (x->at != shard_of(id) && claim(id, x->at & SHARD_MASK))
			break;
	return 0;
}

/* A CPU begins to run something. If that is not the task that asked it, the task asks another. By the kernel's number. */
static __always_inline void answer_caller(s32 kernel_cpu)
{
	u32 cpu = machine_cpu(kernel_cpu), id = callers[cpu & CPU_MASK];

	if (!id)
		return;
	callers[cpu & CPU_MASK] = 0;
	call_elsewhere(id);
}

static __always_inline void answer_caller_on_cpu_of(const struct task_struct *p)
{
	answer_caller(scx_bpf_task_cpu(p));
}

/* ---- a move ---- */

/* The task leaves its machine, and is on its way to another shard. It is off its CPU, or its sum_exec is this. */
NOINLINE int leave_shard(u32 id, u32 to, u64 sum_exec)
{
	struct event e = { .id = id, .now = clock_ns() };
	struct host_move *move = &host_task(id)->move;
	u32 from = shard_of(id), stopping = 0, quiescent = 0, *moving = moving_here();
	struct machine *m = machine_at(from);
	struct bpf_spin_lock *lock = lock_of(from);

	if (!lock)
		return 0;
	bpf_spin_lock(lock);
	if (tell_stopping(from, &e, sum_exec))
		stopping = e.seq;
	take_lag_along(m, id);
	if (machine_task(m, id)->state & RUNNABLE) {
		e.why = BLOCKED;
		tell_inlined(from, EVENT_quiescent, &e);
		quiescent = e.seq;
		set_moving(moving, id);
	}
	move->entitled += machine_task(m, id)->entitled.service;
	e.why = MOVES;
	tell(from, EVENT_exit, &e);
	shard_of_task[id & POOL_MASK] = to;
	publish(from);
	bpf_spin_unlock(lock);
	log_event(from, EVENT_exit, &e, 0, 0, MOVES);
	if (quiescent) {
		e.seq = quiescent;
		log_event(from, EVENT_quiescent, &e, 0, 0, BLOCKED);
	}
	if (stopping) {
		e.seq = stopping;
		log_event(from, EVENT_stopping, &e, e.amount, 0, 0);
	}
	host_task(id)->sum_exec_at_run = sum_exec;
	return 0;
}

/* The machine of the shard to which a task moves knows it from now on. */
NOINLINE int come(u32 id)
{
	struct event e = { .id = id, .process = id, .now = clock_ns() };
	bool is_bound = host_task(id)->move.is_bound;
	u32 shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);

	if (!lock)
		return 0;
	bpf_spin_lock(lock);
	e.amount = weight_to_tell(id);
	if (!has_weigher())
		accounts[id & POOL_MASK].nominal = e.amount;
	tell(shard, EVENT_new, &e);
	if (is_bound)
		tell_allowed(shard, &e, allowed_part(id, shard));
	bpf_spin_unlock(lock);
	if (is_bound) {
		log_allowed(shard, &e, 0, true);
		e.seq--; /* It was told first that the task is new. */
		e.cpu = 0;
	}
	log_event(shard, EVENT_new, &e, e.amount, id, 0);
	return 0;
}

/* Under the lock of its shard: the task becomes runnable there, and its tags may be later, by the amount of the event. */
static __always_inline void tell_joins(u32 shard, struct event *e, struct survey *x)
{
	u64 own = tag_to_join(shard, e->id, x, x->how);

	x->is_carried = false;
	e->why = x->how & HAS_MOVED || !host_task(e->id)->was_runnable ? NEW : WOKEN;
	if (!x->how)
		return;
	tell_inlined(shard, EVENT_runnable, e);
	e->amount = carried_tag(machine_at(shard), e->id, own, x->v, x->how);
	if (e->amount) {
		x->is_carried = true;
		tell(shard, EVENT_carry, e);
	}
}

/* Under the shard's lock: whether the task comes that was held. The kernel may have taken it back. */
static __always_inline bool is_no_longer_held(u32 shard, u32 id, struct survey *x)
{
	u8 *held = &host_task(id)->move.held;

	if (!config.limits || !(x->how & IS_HELD))
		return true;
	if (shard != shard_of(id) || !*held)
		return false;
	x->how |= *held;
	*held = 0;
	return true;
}

/* The machine of its shard has the task, and may pick it, unless it runs. `how` is of the bits of published.h. Returns whether no CPU was asked for it.
 * What branches depend on is in memory: the verifier has one state for all ways to an event. */
NOINLINE bool arrive(u32 id, u32 how)
{
	struct event e = { .id = id, .now = clock_ns(), .cpu = NO_CPU };
	struct survey *x = survey_of(how);
	struct host_task *t = host_task(id);
	u32 shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);

	if (!lock)
		return false;
	x->how = how;
	look_before_joining(x, shard);
	bpf_spin_lock(lock);
	if (!is_no_longer_held(shard, id, x)) {
		bpf_spin_unlock(lock);
		return false;
	}
	tell_joins(shard, &e, x);
	if (!(x->how & RUNS_HERE)) {
		tell(shard, EVENT_enqueue, &e);
		t->enqueued = e.now;
		if (!t->waiting_since)
			t->waiting_since = e.now;
	}
	t->was_runnable = true;
	t->move.is_visitor = moves_at_once() && x->how & RUNS_HERE;
	t->move.has_no_tag = false;
	publish(shard);
	bpf_spin_unlock(lock);
	/* The events have consecutive numbers, and e.seq is the last one's: so they are counted back. */
	if (!(how & RUNS_HERE)) {
		kick(shard, e.cpu);
		log_event(shard, EVENT_enqueue, &e, 0, 0, 0);
		e.seq--;
	}
	if (x->is_carried) {
		log_event(shard, EVENT_carry, &e, e.amount, 0, 0);
		e.seq--;
	}
	if (how)
		log_event(shard, EVENT_runnable, &e, 0, 0, e.why);
	if (how & IS_WOKEN)
		count(stats.wakes);
	if ((how & (HAS_MOVED | RUNS_HERE)) ==
	    HAS_MOVED) /* where it runs, the dispatch tells the machine more first: taking.h */
		set_moving(moving_here(), 0);
	if (how & HAS_MOVED)
		count(COUNTS_OF(shard).moves);
	return !(how & RUNS_HERE) && e.cpu == NO_CPU;
}

/* A CPU runs the task that it took, and holds the lock of its run queue: with a selection without tags it moves now. Returns its shard. */
static __always_inline u32 begin_visit(const struct task_struct *p, u32 id)
{
	u32 cpu = machine_cpu(scx_bpf_task_cpu(p)), here = shard_of_cpu(cpu);

	if (moves_at_once() && host_task(id)->move.is_visitor && cpu != NO_CPU && here != shard_of(id) &&
	    allowed_part(id, here)) {
		leave_shard(id, here, p->se.sum_exec_runtime);
		come(id);
		arrive(id, HAS_MOVED | RUNS_HERE);
		set_moving(moving_here(), 0);
	}
	return shard_of(id);
}

#else
static __always_inline u32 begin_visit(const struct task_struct *p, u32 id)
{
	return shard_of(id);
}

static __always_inline void answer_caller(s32 kernel_cpu)
{
}

static __always_inline void answer_caller_on_cpu_of(const struct task_struct *p)
{
}
#endif

#endif
