/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A CPU that is idle for the machine may run something else: a real-time task, a kernel thread, a task without an id, or one
 * that may not migrate. The machine would promise it tasks that then wait for as long as that runs. So it is told. The CPU
 * dispatches when it is free again.
 */
#ifndef DIVVY_HOST_TAKEN_CPUS_H
#define DIVVY_HOST_TAKEN_CPUS_H

#include "host/decision_log.h"
#include "host/events.h"

#ifdef DIVVY_SHARDS
/* moves.h */
int call_idle(u32 id, u32 by);

/* Under the lock: the task for which a CPU was woken, or 0 */
static __always_inline u32 promised_to(u32 shard, u32 local)
{
	return machine_at(shard)->promised[local & CPU_MASK];
}

/* If the task still waits, an idle CPU of another shard may have it. */
static __always_inline void call_elsewhere(u32 id)
{
	if (id && shards.steal && task_in_machine(id)->state & CUSTODY)
		call_idle(id, 0);
}
#else
static __always_inline u32 promised_to(u32 shard, u32 local)
{
	return 0;
}

static __always_inline void call_elsewhere(u32 id)
{
}
#endif

/* `cpu` is the machine's number, or NO_CPU. The lock is not held; what is read first is a hint that saves taking it. A CPU
 * that is not idle yet dispatches once more before it is. Not static on purpose: the verifier checks such a function once, by
 * itself, and not again on each path of its callers. */
NOINLINE int take_cpu(u32 cpu)
{
	u32 shard = shard_of_cpu(cpu), local = local_cpu(cpu);
	struct event e = { .cpu = local };
	struct machine *m = machine_at(shard);
	struct bpf_spin_lock *lock;
	u32 promised;

	if (cpu == NO_CPU || !(machine_is_idle(m, local) || m->promised[local & CPU_MASK]))
		return 0;
	e.now = clock_ns();
	lock = lock_of(shard);
	if (!lock)
		return 0;
	bpf_spin_lock(lock);
	promised = promised_to(shard, local);
	tell(shard, EVENT_take_cpu, &e);
	bpf_spin_unlock(lock);
	log_event(shard, EVENT_take_cpu, &e, 0, 0, local);
	kick(shard, e.cpu);
	if (e.cpu == NO_CPU)
		call_elsewhere(promised);
	return 0;
}

/* Puts the task first on the CPU where it is, past the machine. With SCX_ENQ_LAST that CPU is about to go idle, and would
 * not look again by itself. */
static __always_inline void insert_local(struct task_struct *p, u64 slice, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);

	dsq_insert(p, SCX_DSQ_LOCAL, slice, enq_flags);
	take_cpu(machine_cpu(cpu));
	if (enq_flags & SCX_ENQ_LAST)
		scx_bpf_kick_cpu(cpu, 0);
}

#endif
