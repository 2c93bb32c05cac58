/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Starvation
 */
#ifndef DIVVY_HOST_STARVATION_H
#define DIVVY_HOST_STARVATION_H

#include "host/cpu_queues.h"
#include "host/decision_log.h"
#include "host/events.h"

/*
 * A policy may let a task wait for longer than the kernel's watchdog permits, which then throws the scheduler out: a
 * weight of 15 beside many of 88761, or first come first served. So once a second those that have waited beyond
 * patience are noted, and their CPUs kicked; each gets a quantum out of turn. The machine is told that the task is
 * out of its custody for so long, and charges the quantum in the task's next turn: no share changes.
 */
#define SWEEP_NS 1000000000ull
#define MAX_OVERDUE 64

static u32 overdue[MAX_OVERDUE];
static u32 noverdue;
static u32 sweep_id;

struct sweep {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sweep);
} sweeps SEC(".maps");

static NOINLINE void find_overdue(u64 now)
{
	u64 patience = config.patience_ms * MS;

	for (sweep_id = 1; sweep_id <= last_id && noverdue < MAX_OVERDUE && can_loop; sweep_id++) {
		u64 since = host_task(sweep_id)->enqueued;

		if (!(fact(&machine, sweep_id)->state & CUSTODY) || since + patience > now)
			continue;
		overdue[noverdue % MAX_OVERDUE] = sweep_id;
		noverdue++;
	}
}

static NOINLINE void kick_all(void)
{
	for (u32 cpu = 0; cpu < config.config.ncpus && can_loop; cpu++)
		scx_bpf_kick_cpu(config.kernel_cpu[cpu & CPU_MASK], SCX_KICK_PREEMPT);
}

static int sweep(void *map, u32 *key, struct sweep *s)
{
	find_overdue(clock_ns());
	if (noverdue)
		kick_all();
	bpf_timer_start(&s->timer, SWEEP_NS, 0);
	return 0;
}

static __always_inline s32 start_sweeping(void)
{
	u32 zero = 0;
	struct sweep *s = bpf_map_lookup_elem(&sweeps, &zero);

	if (!s || !config.patience_ms)
		return 0;
	return bpf_timer_init(&s->timer, &sweeps, CLOCK_MONOTONIC) ?: bpf_timer_set_callback(&s->timer, sweep) ?:
	       bpf_timer_start(&s->timer, SWEEP_NS, 0);
}

/* The last that was noted, if it still waits and may run here; else it is left to the CPU where it may, which was
 * kicked as well. */
static __always_inline bool rescue(s32 kernel_cpu, u32 cpu, u32 *late)
{
	struct event e = { .now = clock_ns() };
	bool waits = false, here = false;

	bpf_spin_lock(&lock);
	if (noverdue) {
		e.id = overdue[(noverdue - 1) % MAX_OVERDUE];
		waits = fact(&machine, e.id)->state & CUSTODY;
		here = waits && machine_may_run(&machine, e.id, cpu);
		if (here || !waits)
			noverdue--;
	}
	if (here) {
		tell(EVENT_dequeue, &e);
		stats.rescues++;
	}
	bpf_spin_unlock(&lock);
	if (!here)
		return false;
	note(EVENT_dequeue, &e, 0, 0, 0);
	e.slice = config.config.quantum;
	return send(&e, kernel_cpu, late);
}

#endif
