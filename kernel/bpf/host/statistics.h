/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Statistics
 */
#ifndef DIVVY_HOST_STATISTICS_H
#define DIVVY_HOST_STATISTICS_H

#include "host/tasks.h"

static __always_inline void open_account(u32 id, const struct task_struct *p, const struct event *e)
{
	struct account *a = &accounts[id & POOL_MASK];

	a->received_ns = 0;
	a->entitled_ns = 0;
	a->waited_ns = 0;
	a->turns = a->waits = 0;
	a->weight = a->nominal = e->amount;
	a->process = e->process;
	a->tgid = p->tgid;
	a->pid = p->pid;
}

static __always_inline void settle_account(u32 id)
{
	struct account *a = &accounts[id & POOL_MASK];

	a->weight = weight_of(&machine.s.facts, id);
	a->entitled_ns = machine.entitled.task[id & POOL_MASK].service;
}

/* Under the lock: what it received until its p->se.sum_exec_runtime was this. */
static __always_inline void count_service(u32 id, u64 sum_exec)
{
	accounts[id & POOL_MASK].received_ns += sum_exec - host_task(id)->counted;
	host_task(id)->counted = sum_exec;
}

/* Under the lock, when it comes on a CPU */
static __always_inline void count_turn(u32 id, u64 now)
{
	struct account *a = &accounts[id & POOL_MASK];
	struct host_task *t = host_task(id);

	a->turns++;
	if (!t->waits_from)
		return;
	a->waits++;
	a->waited_ns += now - t->waits_from;
	t->waits_from = 0;
}

/* Its p->se.sum_exec_runtime, as of the last tick if it runs; 0 if it is not that thread any more */
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

static NOINLINE int settle(u32 id)
{
	u32 pid = accounts[id & POOL_MASK].pid;
	u64 now = clock_ns(), sum_exec;

	if (!(fact(&machine, id)->state & RUNNABLE))
		return 0;
	sum_exec = sum_exec_of(id, pid);
	bpf_spin_lock(&lock);
	if (fact(&machine, id)->state & RUNNABLE && accounts[id & POOL_MASK].pid == pid) {
		entitled_touch(&machine.entitled, &machine.s.facts, id, machine_now(&machine, now));
		settle_account(id);
		if (fact(&machine, id)->state & ON_CPU && (s64)(sum_exec - host_task(id)->counted) > 0)
			count_service(id, sum_exec);
	}
	bpf_spin_unlock(&lock);
	return 0;
}

#endif
