/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A task stops: it goes off its CPU and stays runnable, or it is no longer runnable, perhaps for good. The machine is told how
 * long it ran, unless it was told already. The functions take the lock.
 */
#ifndef DIVVY_HOST_STOPPING_H
#define DIVVY_HOST_STOPPING_H

#include "host/crowd.h"
#include "host/decision_log.h"
#include "host/events.h"
#include "host/published.h"
#include "host/quotas.h"
#include "host/attributes.h"
#include "host/statistics.h"
#include "host/weighing.h"

/* Under the lock: tells what the task received since it came on its CPU. Returns false if it was not on one. */
static __always_inline bool tell_stopping(u32 shard, struct event *e, u64 sum_exec)
{
	if (!(machine_task(machine_at(shard), e->id)->state & ON_CPU))
		return false;
	e->amount = sum_exec - host_task(e->id)->sum_exec_at_run;
	tell(shard, EVENT_stopping, e);
	return true;
}

/* Its slice ends or is interrupted, and it is still runnable. */
static __always_inline void off_cpu(const struct task_struct *p, u32 id)
{
	struct event e = { .id = id, .now = clock_ns() };
	u32 shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);
	bool stopped, goes_on;

	if (!lock)
		return;
	bpf_spin_lock(lock);
	stopped = tell_stopping(shard, &e, p->se.sum_exec_runtime);
	limited_off(id, p->se.sum_exec_runtime);
	goes_on = (task_in_machine(id)->state & (PICKED | PARKED)) == PICKED;
	bpf_spin_unlock(lock);
	limited_off_apart(id, p->se.sum_exec_runtime, goes_on);
	host_task(id)->dispatched = 0;
	if (stopped)
		log_event(shard, EVENT_stopping, &e, e.amount, 0, 0);
}

/*
 * The slice of a task is over, and the kernel did not ask for the next one, because a kernel thread or a real-time task comes first.
 * Returns for how long the slice goes on afterwards, in ns, or 0. If the task's groups have no more time left, it does not go on either:
 * to enqueue it ends the slice. Not static: the verifier checks it by itself.
 */
NOINLINE u64 expire(u32 id)
{
	struct event e = { .id = id, .now = clock_ns() };
	u32 shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);
	u64 granted;

	if (!lock)
		return 0;
	bpf_spin_lock(lock);
	tell(shard, EVENT_expire, &e);
	granted = e.slice;
	e.slice = slice_in_crowd(shard, granted);
	if (!granted || (config.limits && !admit(&e)))
		e.slice = 0;
	publish(shard);
	bpf_spin_unlock(lock);
	log_event(shard, EVENT_expire, &e, granted, 0, 0);
	return e.slice;
}

#ifdef DIVVY_SHARDS
/* Its shard knows. */
static __always_inline void no_longer_weighed(u32 id)
{
	if (!has_weigher())
		return;
	weigh_out(id, ALWAYS);
	pass_on();
}
#else
#define no_longer_weighed(id)
#define forget_weight(id)
#endif

/* It goes to sleep, dies, or leaves for another scheduling class. */
static __always_inline void no_longer_runnable(struct task_struct *p, u32 id, enum why why)
{
	struct event stopping = { .id = id, .now = clock_ns() }, e = stopping;
	u32 shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);
	bool stopped;

	if (!lock)
		return;
	e.why = why;
	bpf_spin_lock(lock);
	stopped = tell_stopping(shard, &stopping, p->se.sum_exec_runtime);
	tell(shard, EVENT_quiescent, &e);
	publish(shard);
	limited_leaves(id, p->se.sum_exec_runtime, e.now);
	host_task(id)->waiting_since = 0;
	host_task(id)->slept = e.now;
	bpf_spin_unlock(lock);
	if (stopped)
		log_event(shard, EVENT_stopping, &stopping, stopping.amount, 0, 0);
	log_event(shard, EVENT_quiescent, &e, 0, 0, why);
	limited_leaves_apart(id, p->se.sum_exec_runtime);
	no_longer_weighed(id);
}

/* It is gone. A policy with lazy removal keeps it in its queue, and so in its group, until then; the kernel may keep a task that has
 * ended for as long as nobody waits for it, so with such a policy this is called when it ends. Its id is its own until it is gone. Not
 * static: the verifier checks it by itself. */
NOINLINE int task_ended(u32 id)
{
	struct event e = { .id = id, .now = clock_ns() };
	u32 shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);

	if (!(machine_task(machine_at(shard), id)->state & KNOWN) || !lock)
		return 0;
	bpf_spin_lock(lock);
	tell(shard, EVENT_exit, &e);
	bpf_spin_unlock(lock);
	log_event(shard, EVENT_exit, &e, 0, 0, 0);
	forget_weight(id);
	return 0;
}

/* If a task just went to sleep here, its time holds: that was a moment ago, in the same call of the kernel's scheduler, unless weights were
 * passed on since. To read the clock takes 45 instructions. */
static __always_inline u64 time_of_dispatch(const struct task_struct *prev)
{
	bool slept = !has_weigher() && prev && !stays_runnable(prev) && id_of(prev);

	return slept ? host_task(id_of(prev))->slept : clock_ns();
}

#endif
