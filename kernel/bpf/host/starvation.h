/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The starvation limit. A policy may let a task wait for longer than the kernel's watchdog permits, which then throws
 * the scheduler out: a weight of 15 beside many of 88761, or first come, first served. So once a second a timer lists
 * the tasks that have waited beyond the limit, and kicks the CPUs; each task on the list gets one quantum out of order.
 * The machine is told that the task is out of its custody for so long, and charges the quantum in the task's next
 * slice: no share changes.
 *
 * The timer adds to the list `starved` without the lock, and reads the machine as a hint; dispatch removes from it
 * under the lock, and checks each task again.
 */
#ifndef DIVVY_HOST_STARVATION_H
#define DIVVY_HOST_STARVATION_H

#include "host/cpu_queues.h"
#include "host/decision_log.h"
#include "host/events.h"

#define STARVATION_CHECK_NS 1000000000ull
#define MAX_STARVED 64

static u32 starved[MAX_STARVED];
static u32 nstarved;
static u32 checked_id;

struct starvation_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct starvation_timer);
} timers SEC(".maps");

static NOINLINE void find_starved(u64 now)
{
	u64 limit = config.starvation_limit_ms * MS;

	for (checked_id = 1; checked_id <= last_id && nstarved < MAX_STARVED && can_loop; checked_id++) {
		u64 since = host_task(checked_id)->enqueued;

		if (!(machine_task(&machine, checked_id)->state & CUSTODY) || since + limit > now)
			continue;
		starved[nstarved % MAX_STARVED] = checked_id;
		nstarved++;
	}
}

static NOINLINE void kick_all(void)
{
	for (u32 cpu = 0; cpu < config.config.ncpus && can_loop; cpu++)
		scx_bpf_kick_cpu(config.kernel_cpu[cpu & CPU_MASK], SCX_KICK_PREEMPT);
}

static int check_starvation(void *map, u32 *key, struct starvation_timer *t)
{
	find_starved(clock_ns());
	if (nstarved)
		kick_all();
	bpf_timer_start(&t->timer, STARVATION_CHECK_NS, 0);
	return 0;
}

static __always_inline s32 start_starvation_timer(void)
{
	u32 zero = 0;
	struct starvation_timer *t = bpf_map_lookup_elem(&timers, &zero);

	if (!t || !config.starvation_limit_ms)
		return 0;
	return bpf_timer_init(&t->timer, &timers, CLOCK_MONOTONIC) ?:
	       bpf_timer_set_callback(&t->timer, check_starvation) ?:
	       bpf_timer_start(&t->timer, STARVATION_CHECK_NS, 0);
}

/* Sends the last task on the list to this CPU, if it still waits and may run here. If it may not, it is left to a CPU
 * where it may; that one was kicked as well. */
static __always_inline bool dispatch_starved(s32 kernel_cpu, u32 cpu, u32 *late)
{
	struct event e = { .now = clock_ns() };
	bool waits = false, here = false;

	bpf_spin_lock(&lock);
	if (nstarved) {
		e.id = starved[(nstarved - 1) % MAX_STARVED];
		waits = machine_task(&machine, e.id)->state & CUSTODY;
		here = waits && machine_may_run(&machine, e.id, cpu);
		if (here || !waits)
			nstarved--;
	}
	if (here) {
		tell(EVENT_dequeue, &e);
		stats.rescues++;
		host_task(e.id)->sent_to = kernel_cpu + 1;
	}
	bpf_spin_unlock(&lock);
	if (!here)
		return false;
	log_event(EVENT_dequeue, &e, 0, 0, 0);
	e.slice = config.config.quantum;
	return send(&e, kernel_cpu, late);
}

#endif
