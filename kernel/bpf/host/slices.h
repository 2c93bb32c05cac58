/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slices. The policy grants a slice in ns of CPU time; the kernel ends slices at its ticks, and is given at most
 * LONGEST_SLICE_NS at a time. A slice survives interruptions by kernel threads and changes of attributes.
 *
 * The lock is not held. Two may touch a task's slice: the CPU that dispatches or runs the task, and enqueue, which is
 * called with the lock of the task's kernel run queue.
 */
#ifndef DIVVY_HOST_SLICES_H
#define DIVVY_HOST_SLICES_H

#include "host/quotas.h"

/* The kernel asks for the next tasks only when a slice ends, and kernel threads that have used up theirs wait for it. */
#define LONGEST_SLICE_NS (100 * MS)

static __always_inline u64 shorter(u64 ns, u64 other)
{
	return ns < other ? ns : other;
}

/* The slice for the kernel, which is granted several times if it is shorter than the policy's */
static __always_inline u64 kernel_slice(u64 slice)
{
	return shorter(slice, LONGEST_SLICE_NS);
}

/* The same when a slice of which `rest` is left begins or goes on after the kernel asked for the next task. */
static __always_inline u64 next_kernel_slice(const struct task_struct *p, u32 id, u64 rest)
{
	host_task(id)->sum_exec_to_ask = p->se.sum_exec_runtime + LONGEST_SLICE_NS;
	return kernel_slice(rest);
}

/* The same after an interruption, which does not begin the kernel's slice anew: kernel threads that wake up again and again would
 * keep the kernel from ever asking for the next task. */
static __always_inline u64 same_kernel_slice(const struct task_struct *p, u32 id, u64 rest)
{
	s64 left = host_task(id)->sum_exec_to_ask - p->se.sum_exec_runtime;

	return shorter(rest, left > 0 ? left : 1);
}

/* Whether a task has a slice on this CPU, which is over if remaining_slice says 0 */
static __always_inline bool has_slice_here(const struct task_struct *p, u32 id)
{
	const struct task *t = task_in_machine(id);
	u32 cpu;

	/* First what is at hand: a task that wakes has no slice, so the kernel need not be asked for its CPU. */
	if ((t->state & (PICKED | PARKED)) != PICKED)
		return false;
	cpu = machine_cpu(scx_bpf_task_cpu(p));
	return shard_of(id) == shard_of_cpu(cpu) && t->cpu == local_cpu(cpu);
}

/* Returns what is left of a task's slice, or 0 if it is over. Something is left where the kernel changed an attribute of
 * the task, or a kernel thread went first. */
static __always_inline u64 remaining_slice(const struct task_struct *p, u32 id)
{
	const struct machine *m = machine_of(id);
	const struct task *t = task_in_machine(id);
	u64 used = p->se.sum_exec_runtime - host_task(id)->sum_exec_at_slice;

	if (!has_slice_here(p, id))
		return 0;
	if (m->why[t->cpu & CPU_MASK] || !may_go_on(id))
		return 0;
	return used < host_task(id)->slice_to_tick_ns ? host_task(id)->slice_to_tick_ns - used : 0;
}

/* The kernel checks slices at its ticks, and ends a slice at the first tick after its time. With half a tick less, a
 * slice ends at the tick that is nearest. */
static __always_inline u64 until_nearest_tick(u64 slice)
{
	u64 half = config.tick_ns / 2;

	return slice > half ? slice - half : 1;
}

/*
 * A policy that counts slices assumes that each has its full length. The last one may have been too short or too long
 * because it had to end at a tick, or because a real-time task took the CPU: this returns that difference, which is
 * added to the next slice, so the total stays close to what was granted. A slice that ended for another reason was
 * shorter by more than a tick, or by too little to matter.
 */
static __always_inline s64 carried(const struct host_task *t, u64 used)
{
#ifdef POLICY_COUNTS_SLICES
	s64 rest = t->slice_ns - used, most = t->interrupted ? LONGEST_SLICE_NS : config.tick_ns;

	return rest <= most && rest >= -(s64)config.tick_ns ? rest : 0;
#else
	return 0;
#endif
}

/* Begins the slice that a dispatch answered. Returns the slice for the kernel. */
static __always_inline u64 begin_slice(const struct task_struct *p, const struct event *e)
{
	struct host_task *t = host_task(e->id);
	u64 sum_exec = p->se.sum_exec_runtime;
	s64 wanted = (s64)e->slice + carried(t, sum_exec - t->sum_exec_at_slice);

	/* A quantum shorter than a tick may be less than the last slice was too long. */
	t->slice_ns = e->slice == SLICE_INF ? SLICE_INF : wanted > 0 ? wanted : 1;
	if (config.limits && t->cut_ns)
		t->slice_ns = shorter(t->slice_ns, t->cut_ns);
	t->slice_to_tick_ns = t->slice_ns == SLICE_INF ? SLICE_INF : until_nearest_tick(t->slice_ns);
	t->sum_exec_at_slice = sum_exec;
	t->interrupted = false;
	return next_kernel_slice(p, e->id, t->slice_to_tick_ns);
}

/* Whether a task ran until now and is still runnable */
static __always_inline bool stays_runnable(const struct task_struct *prev)
{
	return prev && prev->scx.flags & SCX_TASK_QUEUED;
}

/* A slice of the policy that is longer than the kernel's longest takes several of those. */
static NOINLINE bool continue_slice(struct task_struct *prev)
{
	u32 id = prev ? id_of(prev) : 0;
	u64 rest;

	if (!id || host_task(id)->slice_to_tick_ns <= LONGEST_SLICE_NS)
		return false;
	rest = remaining_slice(prev, id);
	if (rest)
		set_slice(prev, next_kernel_slice(prev, id, rest));
	if (config.limits && !has_taken(id)) /* what it ran before there was a limit */
		host_task(id)->sum_exec_limited = prev->se.sum_exec_runtime;
	return rest;
}

#endif
