/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Statistics of each task: its account has the CPU time that it received and was entitled to, and how long it waited.
 * Accounts are written under the lock; the loader reads them without it.
 *
 * The command `settle` brings accounts up to date, says who is runnable, and copies what the machine counts: else each event would
 * write what only a viewer reads. An account is closed when its task exits or leaves for another scheduling class.
 */
#ifndef DIVVY_HOST_STATISTICS_H
#define DIVVY_HOST_STATISTICS_H

#include "host/tasks.h"
#include "host/weighing.h"

/* Under the lock */
static __always_inline void open_account(u32 id, u32 pid, u32 tgid, const struct event *e)
{
	struct account *a = &accounts[id & POOL_MASK];

	a->received_ns = 0;
	a->entitled_ns = 0;
	a->waited_ns = 0;
	a->turns = a->waits = 0;
	a->weight = a->nominal = e->amount;
	a->process = e->process;
	a->tgid = tgid;
	a->pid = pid;
}

/* Service that it was entitled to: of all CPUs if there is a weigher, or else of its shard, and of those where it was before */
static __always_inline u64 entitled_service(u32 id)
{
#ifdef DIVVY_SHARDS
	if (has_weigher())
		return machine_task(weigher(), id)->entitled.service;
	return task_in_machine(id)->entitled.service + host_task(id)->move.entitled;
#else
	return task_in_machine(id)->entitled.service;
#endif
}

/* The same until now. The lock is not held. */
static __always_inline void entitle_until_now(u32 id, u32 pid)
{
#ifdef DIVVY_SHARDS
	u64 now = clock_ns();

	if (!has_weigher())
		return;
	bpf_spin_lock(&lock);
	if (accounts[id & POOL_MASK].pid == pid && machine_task(weigher(), id)->state & RUNNABLE)
		entitled_touch(&weigher()->entitled, &weigher()->s.tasks, id, machine_now(weigher(), now));
	bpf_spin_unlock(&lock);
#endif
}

/* Under the lock: the weight in use, the entitled service, and its turns. */
static __always_inline void settle_account(u32 id)
{
	struct account *a = &accounts[id & POOL_MASK];

	a->weight = weight_of(&machine_of(id)->s.tasks, id);
	a->entitled_ns = entitled_service(id);
	a->waited_ns = host_task(id)->waited_ns;
	a->turns = host_task(id)->turns;
	a->waits = host_task(id)->waits;
}

/* Under the lock: what the task received until its sum_exec was this. The reading may be older than the last one. */
static __always_inline void count_service(u32 id, u64 sum_exec)
{
	if ((s64)(sum_exec - host_task(id)->sum_exec_counted) <= 0)
		return;
	accounts[id & POOL_MASK].received_ns += sum_exec - host_task(id)->sum_exec_counted;
	host_task(id)->sum_exec_counted = sum_exec;
}

/* It is not runnable, and loses its reference: it ends, or leaves for another scheduling class. What it received before it had one was not
 * from here. Takes the lock. */
static __always_inline void close_account(const struct task_struct *p, u32 id)
{
	u64 sum_exec = p->se.sum_exec_runtime;
	struct bpf_spin_lock *lock = lock_of(shard_of(id));

	if (!host_task(id)->has_reference || !lock)
		return;
	bpf_spin_lock(lock);
	settle_account(id);
	count_service(id, sum_exec);
	bpf_spin_unlock(lock);
}

/* Under the lock: the task came on a CPU, and no longer waits. */
static __always_inline void count_run(u32 id, u64 now)
{
	struct host_task *t = host_task(id);

	t->turns++;
	if (!t->waiting_since)
		return;
	t->waits++;
	t->waited_ns += now - t->waiting_since;
	t->waiting_since = 0;
}

/* Returns sum_exec of the task with this id, as of the last tick if it runs; 0 if it has no reference. The lock is not held. */
static NOINLINE u64 sum_exec_of(u32 id)
{
	u64 sum_exec = 0;
	struct task_struct *p;
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);

	if (!slot)
		return 0;
	bpf_rcu_read_lock();
	p = slot->task;
	if (p)
		sum_exec = p->se.sum_exec_runtime;
	bpf_rcu_read_unlock();
	return sum_exec;
}

/* Whether nothing happened to a task that sleeps, since its account was settled. Without the lock. */
static __always_inline bool is_settled(u32 id)
{
	const struct account *a = &accounts[id & POOL_MASK];

	return a->turns == host_task(id)->turns && a->weight == weight_of(&machine_of(id)->s.tasks, id);
}

/* Brings the account of a task up to date. Takes the lock. */
static NOINLINE int settle(u32 id)
{
	struct account *a = &accounts[id & POOL_MASK];
	u32 pid = a->pid, runnable = task_in_machine(id)->state & RUNNABLE, shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);
	struct machine *m = machine_at(shard);
	bool sleeps = !runnable && !a->runnable;
	u64 now, sum_exec;

	a->runnable = runnable;
	if (!lock || !pid || (sleeps && is_settled(id)))
		return 0;
	now = clock_ns();
	sum_exec = sum_exec_of(id);
	entitle_until_now(id, pid);
	bpf_spin_lock(lock);
	/* Another task may have the id since it was looked up, or it may be in another shard. */
	if (a->pid == pid && shard == shard_of(id)) {
		if (machine_task(m, id)->state & RUNNABLE)
			entitled_touch(&m->entitled, &m->s.tasks, id, machine_now(m, now));
		settle_account(id);
		count_service(id, sum_exec);
	}
	bpf_spin_unlock(lock);
	return 0;
}

#endif
