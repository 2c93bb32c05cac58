/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A sched_ext scheduler of any policy: maps the kernel's calls to the machine's events. Compiled once a policy, with
 * DIVVY_POLICY its name and POLICY_HEADER its header. Which modifiers and parameters it has is said at load.
 *
 *   kernel                                       machine
 *   init_task, exit_task                         new, exit
 *   enqueue                                      runnable if it was not, enqueue
 *   dequeue                                      dequeue
 *   dispatch                                     dispatch
 *   running                                      running
 *   stopping(runnable)                           stopping
 *   stopping(!runnable), quiescent(SLEEP)        stopping, quiescent
 *   stopping(!runnable), quiescent               stopping: the kernel changes an attribute, and puts it back
 *   yield, set_weight, set_cpumask               yield, set_weight, set_allowed
 *   cgroup_init, cgroup_set_weight               set_group
 *   cgroup_move                                  enter_group
 *   a tracepoint: exec                           set_program
 *
 * The machine is one object under one lock, as its policies choose from one queue. No kernel function may be called
 * under it, so a call tells its events, unlocks, and then does what the answers say. What can have happened
 * between, the kernel sees by itself: it takes a dispatch only of a task that is still as it was.
 *
 * A task's id, its index in the machine, is kept in p->scx.dsq_vtime, which is a scheduler's to use and of no other
 * use here: found with one load, and it cannot fail. A task has none (0) if the pool was full when it started; it
 * waits in the fallback DSQ, which gets its part of the turns. Kernel threads have none, and go first: the machine
 * depends on them, and a policy may let a task wait for as long as its paper says.
 *
 * A task in the machine's custody cannot be lost: it is reached by a reference that is taken when it is first
 * enqueued and kept until it exits.
 */
#include "host/attributes.h"
#include "host/cgroups.h"
#include "host/commands.h"
#include "host/cpu_queues.h"
#include "host/decision_log.h"
#include "host/events.h"
#include "host/fallback.h"
#include "host/groups.h"
#include "host/programs.h"
#include "host/slices.h"
#include "host/starvation.h"
#include "host/state.h"
#include "host/statistics.h"
#include "host/stopping.h"
#include "host/tasks.h"

SEC("struct_ops.s/init")
s32 BPF_PROG(host_init)
{
	s32 error = scx_bpf_create_dsq(FALLBACK, -1);

	bpf_spin_lock(&lock);
	config_init(&machine, &config.config);
	bpf_spin_unlock(&lock);
	return error ?: create_cpu_dsqs() ?: start_sweeping();
}

SEC("struct_ops/init_task")
s32 BPF_PROG(host_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *leader = p->group_leader;
	u32 leader_id = leader ? id_of(leader) : 0, group = ROOT;
	struct event e = { .amount = exact_weight(p), .now = clock_ns() };

	p->scx.dsq_vtime = 0;
	if (p->flags & PF_KTHREAD)
		return 0;
	if (config.cgroups && bpf_core_field_exists(args->cgroup))
		group = group_of(args->cgroup->kn->id);
	if (config.users)
		group = group_of_user(user_of(p));
	bpf_spin_lock(&lock);
	e.id = take_id();
	if (!e.id) {
		bpf_spin_unlock(&lock);
		__sync_fetch_and_add(&stats.without_id, 1); /* host_exit_task's is not under the lock */
		return 0;
	}
	e.process = process_of(p, e.id, leader_id);
	*host_task(e.id) = (struct host_task){ .holders = 1, .user = user_of(p), .weight = e.amount };
	host_task(e.process)->holders++;
	tell(EVENT_new, &e);
	stats.tasks++;
	open_account(e.id, p, &e);
	bpf_spin_unlock(&lock);

	p->scx.dsq_vtime = e.id;
	note(EVENT_new, &e, e.amount, e.process, 0);
	if (group)
		enter_group(e.id, group);
	if (!may_run_anywhere(p))
		set_allowed(e.id, p->cpus_ptr);
	return 0;
}

SEC("struct_ops/set_cpumask")
void BPF_PROG(host_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	if (id_of(p))
		set_allowed(id_of(p), mask);
}

SEC("struct_ops/set_weight")
void BPF_PROG(host_set_weight, struct task_struct *p, u32 rounded)
{
	u32 id = id_of(p);

	if (!id || host_task(id)->weight == exact_weight(p))
		return;
	host_task(id)->weight = exact_weight(p);
	set_weight(id);
}

/* Where it was. Choosing a CPU is the machine's, when the task is enqueued; asking here first would race with it. */
SEC("struct_ops/select_cpu")
s32 BPF_PROG(host_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

SEC("struct_ops/enqueue")
void BPF_PROG(host_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct event runnable = { .id = id_of(p), .now = clock_ns() }, e = runnable;
	u32 id = e.id;
	struct host_task *t = host_task(id);
	bool woken;
	u64 rest;

	if (p->flags & PF_KTHREAD) {
		kernel_thread_first(p, enq_flags);
		return;
	}
	if (!t->held && id)
		hold(p, id);
	if (!id || !t->held) {
		fall_back(p, enq_flags);
		return;
	}
	if (config.users)
		follow_user(p, id);
	rest = rest_of_turn(p, id);
	/* Reenqueued, we are called from host_cpu_release: it may run elsewhere. */
	if (rest && enq_flags & SCX_ENQ_REENQ) {
		t->interrupted = true;
		rest = 0;
	}
	if (rest || is_migration_disabled(p, enq_flags & SCX_ENQ_REENQ ? 2 : 1)) {
		dsq_insert(p, SCX_DSQ_LOCAL, rest ? slice_of(rest) : config.config.quantum, enq_flags);
		__sync_fetch_and_add(rest ? &stats.kept : &stats.pinned, 1);
		return;
	}
	sample_lock();
	bpf_spin_lock(&lock);
	woken = !(fact(&machine, id)->state & RUNNABLE);
	if (woken) {
		runnable.why = t->seen ? WOKEN : NEW;
		tell(EVENT_runnable, &runnable);
		stats.wakes++;
		stats.runnable = machine.s.facts.nrunnable;
		accounts[id & POOL_MASK].runnable = true;
	}
	tell(EVENT_enqueue, &e);
	t->enqueued = e.now;
	if (!t->waits_from)
		t->waits_from = e.now;
	bpf_spin_unlock(&lock);
	t->seen = true;
	kick(e.cpu);
	if (woken)
		note(EVENT_runnable, &runnable, 0, 0, runnable.why);
	note(EVENT_enqueue, &e, 0, 0, 0);
}

SEC("struct_ops/dequeue")
void BPF_PROG(host_dequeue, struct task_struct *p, u64 deq_flags)
{
	struct event e = { .id = id_of(p), .now = clock_ns() };

	if (!e.id)
		return;
	bpf_spin_lock(&lock);
	tell(EVENT_dequeue, &e);
	bpf_spin_unlock(&lock);
	note(EVENT_dequeue, &e, 0, 0, 0);
}

SEC("struct_ops/dispatch")
void BPF_PROG(host_dispatch, s32 kernel_cpu, struct task_struct *prev)
{
	struct event e = { .cpu = machine_cpu(kernel_cpu), .now = clock_ns() };
	u32 cpu = e.cpu, *late = &late_cpu[cpu & CPU_MASK];

	if (cpu == NO_CPU || is_expecting(kernel_cpu, late) || fallback_is_next(cpu))
		return;
	if (noverdue && rescue(kernel_cpu, cpu, late))
		return;
	if (goes_on(prev))
		return;
	sample_lock();
	bpf_spin_lock(&lock);
	tell(EVENT_dispatch, &e);
	stats.decisions = machine.decisions;
	stats.faults = machine.faults;
	bpf_spin_unlock(&lock);
	note(EVENT_dispatch, &e, e.slice, e.id, cpu);
	kick(e.cpu);
	if (!e.id) {
		if (stats.fallbacks)
			dsq_consume(FALLBACK);
	} else if (prev && id_of(prev) == e.id) {
		prev->scx.slice = begin_turn(prev, &e);
	} else if (!send(&e, kernel_cpu, late)) {
		scx_bpf_kick_cpu(kernel_cpu, 0);
	}
}

/* A task that runs while the scheduler is being loaded is not the machine's before it is enqueued. */
SEC("struct_ops/running")
void BPF_PROG(host_running, struct task_struct *p)
{
	struct event e = { .id = id_of(p), .now = clock_ns() };

	if (!e.id || !(fact(&machine, e.id)->state & RUNNABLE))
		return;
	host_task(e.id)->ran = host_task(e.id)->counted = p->se.sum_exec_runtime;
	bpf_spin_lock(&lock);
	tell(EVENT_running, &e);
	stats.switches++;
	count_turn(e.id, e.now);
	bpf_spin_unlock(&lock);
	note(EVENT_running, &e, 0, 0, 0);
}

/* If it is not runnable any more, quiescent follows, and does both. */
SEC("struct_ops/stopping")
void BPF_PROG(host_stopping, struct task_struct *p, bool runnable)
{
	if (runnable && id_of(p))
		off_cpu(p, id_of(p));
}

SEC("struct_ops/quiescent")
void BPF_PROG(host_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 id = id_of(p);

	if (!id)
		return;
	if (!(deq_flags & DEQ_SLEEP)) {
		/* The kernel changes an attribute of it: it is put back in a moment, and its turn is not over. */
		off_cpu(p, id);
		return;
	}
	no_longer_runnable(p, id, p->__state & TASK_DEAD ? EXITED : BLOCKED);
	if (p->flags & PF_EXITING)
		unhold(id);
}

SEC("struct_ops/yield")
bool BPF_PROG(host_yield, struct task_struct *from, struct task_struct *to)
{
	struct event e = { .id = id_of(from) }; /* of the machine's time: a clock is 45 instructions, and of no use here */

	if (to)
		return false;
	from->scx.slice = 0;
	if (!e.id)
		return false;
	e.cpu = machine_cpu(scx_bpf_task_cpu(from));
	bpf_spin_lock(&lock);
	tell(EVENT_yield, &e);
	bpf_spin_unlock(&lock);
	note(EVENT_yield, &e, 0, 0, 0);
	return false;
}

/* A real-time task took the CPU: what waits for it may run elsewhere. */
SEC("struct_ops/cpu_release")
void BPF_PROG(host_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	if (args->reason != SCX_CPU_PREEMPT_STOP && ksym_exists(scx_bpf_reenqueue_local))
		scx_bpf_reenqueue_local();
}

/* It leaves for another scheduling class; or this scheduler does. */
SEC("struct_ops/disable")
void BPF_PROG(host_disable, struct task_struct *p)
{
	u32 id = id_of(p);

	if (!id)
		return;
	no_longer_runnable(p, id, BLOCKED);
	unhold(id);
}

SEC("struct_ops/exit_task")
void BPF_PROG(host_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct event e = { .id = id_of(p), .now = clock_ns() };

	if (!e.id) {
		if (!(p->flags & PF_KTHREAD))
			__sync_fetch_and_sub(&stats.without_id, 1);
		return;
	}
	bpf_spin_lock(&lock);
	e.process = machine.s.facts.task[e.id & POOL_MASK].process;
	tell(EVENT_exit, &e);
	accounts[e.id & POOL_MASK].pid = 0;
	stats.tasks--;
	let_go(e.process);
	let_go(e.id);
	bpf_spin_unlock(&lock);
	p->scx.dsq_vtime = 0;
	note(EVENT_exit, &e, 0, 0, 0);
}

SEC("struct_ops/exit")
void BPF_PROG(host_exit, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(exit_info.reason, sizeof(exit_info.reason), info->reason);
	bpf_probe_read_kernel_str(exit_info.msg, sizeof(exit_info.msg), info->msg);
	bpf_probe_read_kernel_str(exit_info.dump, sizeof(exit_info.dump), info->dump);
	exit_info.code = info->exit_code;
	exit_info.kind = info->kind;
}

/* What the kernel prints when it throws the scheduler out */
SEC("struct_ops/dump")
void BPF_PROG(host_dump, struct scx_dump_ctx *dump)
{
	static char format[] = "divvy: %llu runnable, %llu decisions, %llu faults, %llu missing, %llu late\n";
	unsigned long long data[] = {
		machine.s.facts.nrunnable, machine.decisions, machine.faults, stats.missing, stats.late,
	};

	if (ksym_exists(scx_bpf_dump_bstr))
		scx_bpf_dump_bstr(format, data, sizeof(data));
}

#define STRING_(x) #x
#define STRING(x) STRING_(x)

SEC(".struct_ops.link")
struct sched_ext_ops host_ops = {
	.select_cpu = (void *)host_select_cpu,
	.enqueue = (void *)host_enqueue,
	.dequeue = (void *)host_dequeue,
	.dispatch = (void *)host_dispatch,
	.running = (void *)host_running,
	.stopping = (void *)host_stopping,
	.quiescent = (void *)host_quiescent,
	.yield = (void *)host_yield,
	.set_weight = (void *)host_set_weight,
	.set_cpumask = (void *)host_set_cpumask,
	.cpu_release = (void *)host_cpu_release,
	.init_task = (void *)host_init_task,
	.exit_task = (void *)host_exit_task,
	.disable = (void *)host_disable,
	.cgroup_init = (void *)host_cgroup_init,
	.cgroup_set_weight = (void *)host_cgroup_set_weight,
	.cgroup_move = (void *)host_cgroup_move,
	.cgroup_exit = (void *)host_cgroup_exit,
	.dump = (void *)host_dump,
	.init = (void *)host_init,
	.exit = (void *)host_exit,
	.flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING,
	.exit_dump_len = EXIT_DUMP_LEN,
	.name = "divvy_" STRING(DIVVY_POLICY),
};

char _license[] SEC("license") = "Dual MIT/GPL";
