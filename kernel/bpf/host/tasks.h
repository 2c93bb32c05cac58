/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks
 */
#ifndef DIVVY_HOST_TASKS_H
#define DIVVY_HOST_TASKS_H

#include "host/state.h"

/* What the host adds to a task; from `seen` on in its rq's lock, or when it runs. */
struct host_task {
	u32 holders;   /* of its id: itself, and the threads of the process that it stands for */
	u32 user;
	u64 weight;    /* as the kernel has it, or a command set it */
	bool seen;     /* was runnable before */
	bool held;     /* slots has it */
	bool interrupted; /* its turn, by a real-time task */
	u64 enqueued;  /* when, at last */
	u64 waits_from; /* when it began to wait for a CPU, enqueued again or not; 0 it does not */
	u64 ran;       /* p->se.sum_exec_runtime when it came on its CPU */
	u64 counted;   /* the same, until when its account has it */
	u64 turn_from; /* the same when its turn began */
	u64 wanted;    /* ns, how long its turn is to last */
	u64 turn;      /* the same, for an end at the nearest tick */
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

static __always_inline u32 id_of(const struct task_struct *p)
{
	return p->scx.dsq_vtime & POOL_MASK;
}

static __always_inline struct host_task *host_task(u32 id)
{
	return &host_tasks[id & POOL_MASK];
}

/* Under the lock: a free id, or 0. */
static __always_inline u32 take_id(void)
{
	tasks_seen++;
	if (config.fail_every && tasks_seen % config.fail_every == 0)
		return 0;
	if (nfree)
		return free_ids[--nfree & POOL_MASK];
	return last_id < config.pool ? ++last_id : 0;
}

/* Under the lock */
static __always_inline void let_go(u32 id)
{
	if (--host_task(id)->holders == 0)
		free_ids[nfree++ & POOL_MASK] = id;
}

/* Under the lock. The thread that stands for its process exists; if it has no id, each of its threads stands alone. */
static __always_inline u32 process_of(const struct task_struct *p, u32 id, u32 leader)
{
	if (!leader || p->pid == p->tgid)
		return id;
	return machine.s.facts.task[leader & POOL_MASK].process;
}

/* The reference by which it is dispatched */
static __always_inline void hold(struct task_struct *p, u32 id)
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
	host_task(id)->held = true;
}

static __always_inline void unhold(u32 id)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);
	struct task_struct *task;

	host_task(id)->held = false;
	if (!slot)
		return;
	task = bpf_kptr_xchg(&slot->task, NULL);
	if (task)
		bpf_task_release(task);
}

#endif
