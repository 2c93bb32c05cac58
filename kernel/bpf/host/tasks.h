/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Per-task state of the host: the id, the slices, and the reference by which the host dispatches it.
 *
 * The id is the task's index in the machine. It is kept in p->scx.dsq_vtime, a field that belongs to the scheduler and
 * that nothing else uses here: one load finds it, and the look-up cannot fail. The kernel writes it only for a queue ordered by it,
 * which this scheduler has none of, and keeps a function to set it. 0 is no id: a kernel thread, or a task
 * that found none free. Such a task asks again whenever it stops; until then the upper half has its group.
 *
 * A user may have three times as many ids as are free: one user at most three quarters of the pool, two users three sevenths
 * each. So there is always an id for a user who has few, however many sleeping threads another one keeps.
 *
 * An id is free again when its task has exited, and every other thread of the process that it stands for. Ids are
 * taken and released under the lock. Weights and rules in host_task are written under the lock, too, and so is sum_exec_counted once the
 * task has a reference; sum_exec_limited and cut_ns, too, while a group around it has a limit. The other fields are written by the holder of the lock of the task's kernel run queue, or by the CPU on which it
 * runs.
 *
 * A task that the machine knows cannot be lost: a reference is taken when it is first enqueued, and kept until it
 * exits or leaves for another scheduling class.
 */
#ifndef DIVVY_HOST_TASKS_H
#define DIVVY_HOST_TASKS_H

#include "host/state.h"

#ifdef DIVVY_SHARDS
/* A task takes this along to another shard: moves.h. */
struct host_move {
	u64 tag;             /* its tag, while it is in no machine */
	u64 debit;           /* ns that it owes as a new task */
	u64 entitled;        /* service that it was entitled to in shards where it was before */
	struct allowed cpus; /* where it may run, by the machine's numbers */
	bool is_bound;       /* these count; else it may run everywhere */
	u8 reach;            /* if so, the set of shards where it may run on every CPU: reach_sets.h */
	bool reaches_a_part; /* and whether it may run on some of the CPUs of another one */
	u8 next_reach;       /* these two while the CPUs are being changed, */
	bool next_reaches_a_part;
	u8 left_reach;   /* and the set that it then leaves */
	bool is_visitor; /* it was taken by a CPU of another shard, and not enqueued since */
	bool has_no_tag; /* it was not runnable yet, and nobody is known who forked it */
	u8 held; /* how it comes to its shard (published.h) when its groups have CPU time again; 0: it is not held. Under the shard's lock */
};
#endif

/* "sum_exec" is p->se.sum_exec_runtime: the CPU time in ns that the task has received since it was created. */
struct host_task {
	u32 holders; /* of the id: the task, and the threads of the process that it stands for */
	u32 user;
	u32 payer;           /* its user when it got the id, or the owner of that one: the id is of this quota */
	u64 weight;          /* from the kernel, or set by a command */
	u64 rule;            /* the weight that a rule gives it, or 0 */
	bool has_own_weight; /* a command set it */
	bool was_runnable;   /* at least once before */
	bool has_reference;  /* in `slots` */
	u32 sent_to;         /* 1 + the CPU that picked it, by the kernel's number; 0 once the kernel took it back */
	bool interrupted;    /* a real-time task took its CPU during its slice */
	u64 enqueued;        /* time of its last enqueue */
	u64 dispatched;      /* time of its last dispatch; 0: it was off its CPU since */
	u64 slept;           /* time when it went to sleep last */
	u64 waiting_since;   /* when it began to wait for a CPU, whether enqueued again or not; 0 if it does not wait */
	u64 waited_ns;       /* this and the next two are what its account has when it is settled */
	u32 turns;
	u32 waits;
	u64 sum_exec_at_run;   /* sum_exec when it came on its CPU */
	u64 sum_exec_counted;  /* sum_exec up to which its account has it */
	u64 sum_exec_at_slice; /* sum_exec when its slice began */
	u64 sum_exec_to_ask;   /* sum_exec at which the kernel is to ask for the next task */
	u64 slice_ns;          /* how long its slice is to last */
	u64 sum_exec_limited;  /* sum_exec up to which quotas.h has counted it */
	u64 cut_ns;            /* its slice is no longer than that, because of a limit; 0: it is not cut */
	u64 slice_to_tick_ns;  /* the same, shorter by half a tick, so that it ends at the nearest tick */
#ifdef DIVVY_SHARDS
	struct host_move move;
#endif
};

struct host_task host_tasks[POOL];
u32 free_ids[POOL];
u32 nfree;
u32 last_id;
u32 tasks_seen;
bool has_without_id; /* there was a task without an id at least once */

/* Ids that a user has. Users whose numbers differ by a multiple share an entry, and a quota. */
#define QUOTAS 4096
#define QUOTA_OF_FREE 3
u32 ids_of[QUOTAS];

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

/* A task without an id that is to get none, for tests, and where its group is */
#define NO_ID_EVER (1ull << 63)
#define NO_ID_GROUP 32

static __always_inline u32 id_of(const struct task_struct *p)
{
	return p->scx.dsq_vtime & POOL_MASK;
}

/* The same, or 0 if the machine has forgotten the task: it has ended, and the kernel still has it. */
static __always_inline u32 living_id(const struct task_struct *p)
{
	u32 id = id_of(p);

	return task_in_machine(id)->state & KNOWN ? id : 0;
}

static __always_inline struct host_task *host_task(u32 id)
{
	return &host_tasks[id & POOL_MASK];
}

/* For commands, which hold no run queue's lock: whether a machine knows the task, or will in a moment, because it is on its way to another
 * shard. */
static __always_inline bool is_alive(u32 id)
{
#ifdef DIVVY_SHARDS
	if (host_task(id)->has_reference)
		return true;
#endif
	return task_in_machine(id)->state & KNOWN;
}

#ifdef DIVVY_SHARDS
/* The CPU dispatches this visitor, or none (0). It may dispatch several times before the kernel puts back what ran until now. */
static __always_inline void change_visitor(u32 cpu, u32 id)
{
	u32 ran = visitor_on[cpu & CPU_MASK];

	if (task_in_machine(ran)->state & ON_CPU)
		visitor_before[cpu & CPU_MASK] = ran;
	visitor_on[cpu & CPU_MASK] = id;
}
#endif

/* A hint without the lock. */
static __always_inline bool may_have_id(u32 user)
{
	return ids_of[user % QUOTAS] < QUOTA_OF_FREE * (config.pool - last_id + nfree);
}

/* Under the lock: returns a free id, or 0. */
static __always_inline u32 take_id(u32 user)
{
	if (!may_have_id(user))
		return 0;
	ids_of[user % QUOTAS]++;
	return nfree ? free_ids[--nfree & POOL_MASK] : ++last_id;
}

/* Under the lock: one holder less. Returns whether it was the last. */
static __always_inline bool release_id(u32 id)
{
	if (--host_task(id)->holders)
		return false;
	ids_of[host_task(id)->payer % QUOTAS]--;
	free_ids[nfree++ & POOL_MASK] = id;
	return true;
}

/* Whether the id is still one of this process: a leader that has ended keeps the number of an id that others may have now. */
static __always_inline bool is_of_process(u32 id, u32 tgid)
{
	return id && host_task(id)->holders && accounts[id & POOL_MASK].tgid == tgid;
}

/* Under the lock: the id of the task that stands for the process of this one. Several shards' machines do not know. */
static __always_inline u32 process_holder(u32 id)
{
#ifdef DIVVY_SHARDS
	return accounts[id & POOL_MASK].process;
#else
	return machine.s.tasks.task[id & POOL_MASK].process;
#endif
}

/* Under the lock: the id of the task that stands for the process. That is its leader, whose id is held until its last thread
 * ends; while the leader has no id, each thread stands for itself. */
static __always_inline u32 process_of(u32 id, u32 leader, u32 tgid)
{
	return is_of_process(leader, tgid) ? process_holder(leader) : id;
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
