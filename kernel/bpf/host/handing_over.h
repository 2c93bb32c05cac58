/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The kernel enqueues a task, and the machine has it in custody from then on. The lock is not held. */
#ifndef DIVVY_HOST_HANDING_OVER_H
#define DIVVY_HOST_HANDING_OVER_H

#include "host/decision_log.h"
#include "host/events.h"
#include "host/holding.h"
#include "host/moves.h"
#include "host/tasks.h"

#ifdef DIVVY_SHARDS
/* A group around the task that is used up, or 0. It is in memory, and read anew each time: else the verifier would look at all that follows twice. */
static __always_inline u32 used(const struct survey *x)
{
	return config.limits ? *(const volatile u32 *)&x->used : 0;
}

/* It is held where it was last, if it may run there. */
static __always_inline void hold_here(const struct task_struct *p, u32 id, u32 group, u32 how)
{
	hold(id, group, how, p->se.sum_exec_runtime, NO_CPU);
	if (how & HAS_MOVED)
		set_moving(moving_here(), 0);
}

/* The kernel enqueues the task, and holds the lock of its run queue. */
static __always_inline void enqueue_in_shard(const struct task_struct *p, u32 id)
{
	u32 cpu = machine_cpu(scx_bpf_task_cpu(p)), to = shard_of(id), how = 0;
	struct survey *x = survey_here();

	if (config.limits)
		x->used = has_limits() ? used_up(id, p->se.sum_exec_runtime) : 0;
	if (host_task(id)->move.is_visitor && cpu != NO_CPU)
		to = shard_of_cpu(cpu);
	if (!(task_in_machine(id)->state & RUNNABLE)) {
		how = IS_WOKEN;
		if (has_weigher())
			weigh_in(id, used(x) ? IF_RUNNABLE : ALWAYS);
	}
	if ((how && !used(x)) || !allowed_part(id, to))
		to = shard_to_wake_in(id, to);
	if (to != shard_of(id)) {
		leave_shard(id, to, p->se.sum_exec_runtime);
		come(id);
		how |= HAS_MOVED;
	} else if (how && has_weigher()) {
		tell_weight_again(id);
	}
	if (used(x))
		hold_here(p, id, used(x), how);
	else if (arrive(id, how) && shards.steal)
		call_idle(id, 0);
	pass_on();
}

static __always_inline void hand_over(const struct task_struct *p, u32 id, u64 now)
{
	if (has_limits() && !host_task(id)->waiting_since)
		host_task(id)->waiting_since = now;
	enqueue_in_shard(p, id);
}
#else
static __always_inline void hand_over(const struct task_struct *p, u32 id, u64 now)
{
	struct event runnable = { .id = id, .now = now }, e = runnable;
	struct host_task *t = host_task(id);
	bool woken;

	if (has_limits()) {
		if (!t->waiting_since)
			t->waiting_since = now;
		if (hold_back(id, p->se.sum_exec_runtime, NO_CPU))
			return;
	}
	bpf_spin_lock(&lock);
	woken = !(machine_task(&machine, id)->state & RUNNABLE);
	if (woken) {
		runnable.why = t->was_runnable ? WOKEN : NEW;
		tell(0, EVENT_runnable, &runnable);
		stats.wakes++;
	}
	tell(0, EVENT_enqueue, &e);
	t->enqueued = e.now;
	if (!t->waiting_since)
		t->waiting_since = e.now;
	bpf_spin_unlock(&lock);
	t->was_runnable = true;
	kick(0, e.cpu);
	if (woken)
		log_event(0, EVENT_runnable, &runnable, 0, 0, runnable.why);
	log_event(0, EVENT_enqueue, &e, 0, 0, 0);
}
#endif

#endif
