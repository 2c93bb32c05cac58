/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Statistics of each task: its account has the CPU time that it received and was entitled to, and how long it waited.
 * Accounts are written under the lock; the loader reads them without it.
 *
 * An account is current when its task stops. A task that has a CPU for itself, or waits for one, may not stop for
 * long, so the command `settle` brings the accounts of runnable tasks up to date. It also says who is runnable, and copies what
 * the machine counts: else each event would write what only a viewer reads.
 */
#ifndef DIVVY_HOST_STATISTICS_H
#define DIVVY_HOST_STATISTICS_H

#include "host/tasks.h"

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

/* Under the lock: the weight in use, and the entitled service. */
static __always_inline void settle_account(u32 id)
{
	struct account *a = &accounts[id & POOL_MASK];

	a->weight = weight_of(&machine.s.tasks, id);
	a->entitled_ns = machine.entitled.task[id & POOL_MASK].service;
}

/* Under the lock: what the task received until its sum_exec was this. */
static __always_inline void count_service(u32 id, u64 sum_exec)
{
	accounts[id & POOL_MASK].received_ns += sum_exec - host_task(id)->sum_exec_counted;
	host_task(id)->sum_exec_counted = sum_exec;
}

/* Under the lock: the task came on a CPU, and no longer waits. */
static __always_inline void count_run(u32 id, u64 now)
{
	struct account *a = &accounts[id & POOL_MASK];
	struct host_task *t = host_task(id);

	a->turns++;
	if (!t->waiting_since)
		return;
	a->waits++;
	a->waited_ns += now - t->waiting_since;
	t->waiting_since = 0;
}

/* Returns sum_exec of the thread pid with this id, as of the last tick if it runs; 0 if another task has the id now.
 * The lock is not held. */
static NOINLINE u64 sum_exec_of(u32 id, u32 pid)
{
	u64 sum_exec = 0;
	struct task_struct *p;
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);

	if (!slot)
		return 0;
	bpf_rcu_read_lock();
	p = slot->task;
	if (p && (u32)p->pid == pid)
		sum_exec = p->se.sum_exec_runtime;
	bpf_rcu_read_unlock();
	return sum_exec;
}

/* Brings the account of a task up to date. Takes the lock. */
static NOINLINE int settle(u32 id)
{
	u32 pid = accounts[id & POOL_MASK].pid;
	u64 now = clock_ns(), sum_exec;
	bool runnable = machine_task(&machine, id)->state & RUNNABLE;

	accounts[id & POOL_MASK].runnable = runnable;
	if (!runnable)
		return 0;
	sum_exec = sum_exec_of(id, pid);
	bpf_spin_lock(&lock);
	/* Another task may have the id since it was looked up. */
	if (machine_task(&machine, id)->state & RUNNABLE && accounts[id & POOL_MASK].pid == pid) {
		entitled_touch(&machine.entitled, &machine.s.tasks, id, machine_now(&machine, now));
		settle_account(id);
		if (machine_task(&machine, id)->state & ON_CPU && (s64)(sum_exec - host_task(id)->sum_exec_counted) > 0)
			count_service(id, sum_exec);
	}
	bpf_spin_unlock(&lock);
	return 0;
}

#endif
