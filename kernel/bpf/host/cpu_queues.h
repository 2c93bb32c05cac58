/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * CPU queues
 */
#ifndef DIVVY_HOST_CPU_QUEUES_H
#define DIVVY_HOST_CPU_QUEUES_H

#include "host/slices.h"

/* Whether the DSQ of a CPU has a task that is to run there */
static u32 late_cpu[MAX_CPUS];

static NOINLINE s32 create_cpu_dsqs(void)
{
	s32 error = 0;

	for (u32 cpu = 0; cpu < config.config.ncpus && !error && can_loop; cpu++)
		error = scx_bpf_create_dsq(DSQ_OF_CPU + config.kernel_cpu[cpu & CPU_MASK], -1);
	return error;
}

/*
 * Sends the task that was picked to this CPU. One that is on another CPU's queue goes through a DSQ of this CPU, from
 * where the kernel moves it if it can be moved. Sent directly, the kernel would throw the scheduler out if the task
 * cannot: a task that was just preempted can not for a moment, while its CPU runs a BPF program in its name.
 */
static __always_inline bool send(const struct event *e, s32 cpu, u32 *late)
{
	u32 id = e->id; /* that of e would have e in memory: 20 instructions */
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);
	struct task_struct *p = slot ? slot->task : NULL;
	u64 slice;

	if (!p) {
		__sync_fetch_and_add(&stats.missing, 1);
		return false;
	}
	slice = begin_turn(p, e);
	if (scx_bpf_task_cpu(p) == cpu) {
		dsq_insert(p, SCX_DSQ_LOCAL, slice, 0);
		return true;
	}
	dsq_insert(p, DSQ_OF_CPU + cpu, slice, 0);
	*late = !dsq_consume(DSQ_OF_CPU + cpu);
	if (*late)
		scx_bpf_kick_cpu(cpu, 0);
	return true;
}

/* Whether a task that was sent to this CPU before, and could not be moved at once, still keeps the CPU waiting. It may
 * have come now, or the kernel has taken it back and enqueues it again. */
static __always_inline bool is_expecting(s32 cpu, u32 *late)
{
	if (!*late)
		return false;
	__sync_fetch_and_add(&stats.late, 1);
	*late = 0;
	if (dsq_consume(DSQ_OF_CPU + cpu))
		return true;
	if (scx_bpf_dsq_nr_queued(DSQ_OF_CPU + cpu) <= 0)
		return false;
	*late = 1;
	scx_bpf_kick_cpu(cpu, 0);
	return true;
}

#endif
