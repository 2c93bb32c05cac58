/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Sending a picked task to its CPU. A task that is on another CPU's kernel run queue goes through the DSQ of the CPU
 * that picked it. From there the kernel moves it when it can be moved; until then the CPU waits for it, and `late`
 * says so.
 *
 * The functions are called on the CPU that dispatches, and without the lock.
 */
#ifndef DIVVY_HOST_CPU_QUEUES_H
#define DIVVY_HOST_CPU_QUEUES_H

#include "host/slices.h"

static NOINLINE s32 create_cpu_dsqs(void)
{
	s32 error = 0;

	for (u32 cpu = unknown_zero; cpu < config.config.ncpus && !error && can_loop; cpu++)
		error = scx_bpf_create_dsq(DSQ_OF_CPU + config.kernel_cpu[cpu & CPU_MASK], -1)
				?: scx_bpf_create_dsq(DSQ_OF_KERNEL_THREADS + config.kernel_cpu[cpu & CPU_MASK], -1);
	return error;
}

/*
 * Sends the task of a dispatch to this CPU. Returns false if there is no such task.
 *
 * A task from elsewhere is not inserted into the CPU's local queue directly: if it cannot be moved, the kernel would
 * throw the scheduler out. A task that was just preempted cannot be moved for a moment, while its CPU runs a BPF
 * program in its name.
 *
 * The kernel drops an insertion if the task was taken back after it. If the task was taken back before it, and enqueued
 * again, perhaps with other CPUs allowed, the kernel would not: so `sent_to` is looked at after the insertion. It may have run elsewhere since, and
 * ended: then it is not missing.
 */
static __always_inline bool send(const struct event *e, s32 cpu, u32 *late)
{
	u32 id = e->id; /* a copy: the address of e->id would force e into memory, which costs 20 instructions */
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);
	struct task_struct *p = slot ? slot->task : NULL;
	bool is_here;
	u64 slice;

	if (!p) {
		if (host_task(id)->sent_to == cpu + 1u)
			__sync_fetch_and_add(&stats.missing, 1);
		return false;
	}
	slice = begin_slice(p, e);
	is_here = scx_bpf_task_cpu(p) == cpu;
	dsq_insert(p, is_here ? SCX_DSQ_LOCAL : DSQ_OF_CPU + cpu, slice, 0);
	if (host_task(id)->sent_to != cpu + 1u) {
		scx_bpf_dispatch_cancel();
		return false;
	}
	if (is_here)
		return true;
	*late = !dsq_consume(DSQ_OF_CPU + cpu);
	if (*late)
		scx_bpf_kick_cpu(cpu, 0);
	return true;
}

/* Whether the task is picked, and where it was sent. Called under the lock of its kernel run queue, and without ours: both hold until the
 * machine is told otherwise, and that its own CPU and who holds that lock do. Another CPU that picks the task has not written where
 * it sends it, or finds that it was taken back. */
static __always_inline bool has_arrived(const struct task_struct *p, u32 id)
{
	return (task_in_machine(id)->state & (PICKED | PARKED)) == PICKED &&
	       host_task(id)->sent_to == scx_bpf_task_cpu(p) + 1u;
}

/* Whether dequeue is called because the kernel takes the task back from this scheduler. Linux 7.1 and 7.2 forget to
 * call it for a task that came from another CPU. They call it when the task is about to run, as if core scheduling took it. */
static __always_inline bool is_taken_back(const struct task_struct *p, u32 id, u64 deq_flags)
{
	if (!bpf_core_enum_value_exists(enum scx_deq_flags___change, SCX_DEQ_SCHED_CHANGE))
		return true;
	if (deq_flags & DEQ_FLAG(SCX_DEQ_CORE_SCHED_EXEC))
		return !has_arrived(p, id);
	return deq_flags & DEQ_FLAG(SCX_DEQ_SCHED_CHANGE);
}

/* Returns whether this CPU has its next task already: one that was sent to it before and could not be moved at once. It
 * may have come now, or the CPU goes on waiting. If the kernel has taken it back, it is enqueued again, and the CPU
 * dispatches another. */
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
