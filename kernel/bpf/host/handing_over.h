/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The kernel enqueues a task, and the machine has it in custody from then on. The lock is not held. */
#ifndef DIVVY_HOST_HANDING_OVER_H
#define DIVVY_HOST_HANDING_OVER_H

#include "host/decision_log.h"
#include "host/events.h"
#include "host/moves.h"
#include "host/tasks.h"

#ifdef DIVVY_SHARDS
static __always_inline void hand_over(const struct task_struct *p, u32 id, u64 now)
{
	enqueue_in_shard(p, id);
}
#else
static __always_inline void hand_over(const struct task_struct *p, u32 id, u64 now)
{
	struct event runnable = { .id = id, .now = now }, e = runnable;
	struct host_task *t = host_task(id);
	bool woken;

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
