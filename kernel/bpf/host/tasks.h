/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Per-task state of the host: the id, the slices, and the reference by which the host dispatches it.
 *
 * The id is the task's index in the machine. It is kept in p->scx.dsq_vtime, a field that belongs to the scheduler and
 * that nothing else uses here: one load finds it, and the look-up cannot fail. 0 is no id: a kernel thread, or a task
 * that started when the pool was full.
 *
 * An id is free again when its task has exited, and every other thread of the process that it stands for. Ids are
 * taken and released under the lock. The other fields of host_task are written by the holder of the lock of the task's
 * kernel run queue, or by the CPU on which it runs.
 *
 * A task that the machine knows cannot be lost: a reference is taken when it is first enqueued, and kept until it
 * exits or leaves for another scheduling class.
 */
#ifndef DIVVY_HOST_TASKS_H
#define DIVVY_HOST_TASKS_H

#include "host/state.h"

/* "sum_exec" is p->se.sum_exec_runtime: the CPU time in ns that the task has received since it was created. */
struct host_task {
	u32 holders; /* of the id: the task, and the threads of the process that it stands for */
	u32 user;
	u64 weight;          /* from the kernel, or set by a command */
	bool was_runnable;   /* at least once before */
	bool has_reference;  /* in `slots` */
	u32 sent_to;         /* 1 + the CPU that picked it, by the kernel's number; 0 once the kernel took it back */
	bool interrupted;    /* a real-time task took its CPU during its slice */
	u64 enqueued;        /* time of its last enqueue */
	u64 waiting_since;   /* when it began to wait for a CPU, whether enqueued again or not; 0 if it does not wait */
	u64 sum_exec_at_run; /* sum_exec when it came on its CPU */
	u64 sum_exec_counted;  /* sum_exec up to which its account has it */
	u64 sum_exec_at_slice; /* sum_exec when its slice began */
	u64 slice_ns;          /* how long its slice is to last */
	u64 slice_to_tick_ns;  /* the same, shorter by half a tick, so that it ends at the nearest tick */
};

struct host_task host_tasks[POOL];
u32 free_ids[POOL];
u32 nfree;
u32 last_id;
u32 tasks_seen;

struct slot {
	struct task_struct __kptr *task;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, POOL);
	__type(key, u32);
	__type(value, struct slot);
} slots SEC(".maps");

/* ---- ids ---- */

static __always_inline u32 id_of(const struct task_struct *p)
{
	return p->scx.dsq_vtime & POOL_MASK;
}

static __always_inline struct host_task *host_task(u32 id)
{
	return &host_tasks[id & POOL_MASK];
}

/* Under the lock: returns a free id, or 0. */
static __always_inline u32 take_id(void)
{
	tasks_seen++;
	if (config.fail_every && tasks_seen % config.fail_every == 0)
		return 0;
	if (nfree)
		return free_ids[--nfree & POOL_MASK];
	return last_id < config.pool ? ++last_id : 0;
}

/* Under the lock: one holder less. */
static __always_inline void release_id(u32 id)
{
	if (--host_task(id)->holders == 0)
		free_ids[nfree++ & POOL_MASK] = id;
}

/* Under the lock: the id of the task that stands for p's process. That is its leader, which outlives its threads; if
 * the leader has no id, each thread stands for itself. */
static __always_inline u32 process_of(const struct task_struct *p, u32 id, u32 leader)
{
	if (!leader || p->pid == p->tgid)
		return id;
	return machine.s.tasks.task[leader & POOL_MASK].process;
}

/* ---- references ---- */

/* The lock is not held. */
static __always_inline void take_reference(struct task_struct *p, u32 id)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);
	struct task_struct *task;

	if (!slot)
		return;
	task = bpf_task_acquire(p);
	if (!task)
		return;
	task = bpf_kptr_xchg(&slot->task, task);
	if (task)
		bpf_task_release(task);
	host_task(id)->has_reference = true;
}

/* The lock is not held. */
static __always_inline void drop_reference(u32 id)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);
	struct task_struct *task;

	host_task(id)->has_reference = false;
	if (!slot)
		return;
	task = bpf_kptr_xchg(&slot->task, NULL);
	if (task)
		bpf_task_release(task);
}

#endif
