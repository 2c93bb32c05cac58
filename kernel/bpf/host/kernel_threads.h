/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Kernel threads. They go first, because the machine depends on them, and a policy may let a task wait for as long as its
 * paper says: one that wakes up goes to the local queue of its CPU.
 *
 * One that goes on does not, because its slice is used up or because the kernel changes an attribute. While there is a task in
 * the local queue the kernel does not ask for another, so two busy kernel threads would leave nobody else the CPU. It waits in a
 * DSQ of its CPU, of which every other dispatch takes one. So does one that wakes up if the kernel has not asked for long: then kernel
 * threads that wake up have kept the local queue full, and everybody else waits.
 *
 * The functions call the kernel, so the lock is not held; what they read of the machine is a hint.
 */
#ifndef DIVVY_HOST_KERNEL_THREADS_H
#define DIVVY_HOST_KERNEL_THREADS_H

#include "host/slices.h"
#include "host/taken_cpus.h"

/* From one time that the kernel asks for a task to the next */
#define LONGEST_WITHOUT_ASKING_NS (2 * LONGEST_SLICE_NS)

/* An idle CPU was asked, too, long ago. */
static __always_inline bool is_shut_out(u32 cpu)
{
	return (s64)(clock_ns() - host_cpu(cpu)->asked) > (s64)LONGEST_WITHOUT_ASKING_NS &&
	       !machine_is_idle(machine_at(shard_of_cpu(cpu)), local_cpu(cpu));
}

/* Whether it runs a task of another shard, which its own did not pick */
static __always_inline bool runs_visitor(u32 cpu)
{
#ifdef DIVVY_SHARDS
	u32 id = visitor_on[cpu & CPU_MASK];

	return id && host_task(id)->move.is_visitor && task_in_machine(id)->state & ON_CPU;
#else
	return false;
#endif
}

/* Whether the CPU runs what the policy picked */
static __always_inline bool runs_for_policy(u32 cpu)
{
	struct machine *m = machine_at(shard_of_cpu(cpu));

	return machine_task(m, m->s.tasks.picked[local_cpu(cpu) & CPU_MASK])->state & ON_CPU || runs_visitor(cpu);
}

static __always_inline void enqueue_kernel_thread(struct task_struct *p, u64 enq_flags)
{
	s32 kernel_cpu = scx_bpf_task_cpu(p);
	u32 cpu = machine_cpu(kernel_cpu);
	u64 slice;

	__sync_fetch_and_add(&stats.kernel_threads, 1);
	if (cpu != NO_CPU && (!(enq_flags & SCX_ENQ_WAKEUP) || is_shut_out(cpu))) {
		host_cpu(cpu)->has_kernel_thread = true;
		slice = p->scx.slice ?: shorter(config.config.quantum, SCX_SLICE_DFL);
		dsq_insert(p, DSQ_OF_KERNEL_THREADS + kernel_cpu, slice, enq_flags);
		scx_bpf_kick_cpu(kernel_cpu, enq_flags & SCX_ENQ_LAST ? 0 : SCX_KICK_IDLE);
		return;
	}
	/* It preempts what the policy picked, if that runs. Others have no long slices, and if kernel threads preempted each other,
	 * one that wakes up often would take the turns of one that goes on. */
	if (runs_for_policy(cpu))
		enq_flags |= SCX_ENQ_PREEMPT;
	insert_local(p, SCX_SLICE_DFL, enq_flags);
}

/* Takes a kernel thread that waits for this CPU, unless in_turn and the last dispatch took one. */
static __always_inline bool dispatch_kernel_thread(s32 kernel_cpu, u32 cpu, bool in_turn)
{
	struct host_cpu *c = host_cpu(cpu);

	if (!c->has_kernel_thread)
		return false;
	c->had_kernel_thread = !(in_turn && c->had_kernel_thread);
	if (!c->had_kernel_thread)
		return false;
	c->has_kernel_thread = false;
	c->had_kernel_thread = dsq_consume(DSQ_OF_KERNEL_THREADS + kernel_cpu);
	if (c->had_kernel_thread)
		c->has_kernel_thread = true;
	return c->had_kernel_thread;
}

#endif
