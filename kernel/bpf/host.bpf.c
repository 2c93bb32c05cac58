/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A sched_ext scheduler with any policy: translates the kernel's calls (the ops) into events of the machine. Compiled
 * once for each policy, with DIVVY_POLICY its name and POLICY_HEADER its header. The loader chooses modifiers and
 * parameters.
 *
 *   kernel                                       machine
 *   init_task                                    new, fork
 *   enqueue                                      expire if its slice is over; runnable if it was not, enqueue
 *   dequeue                                      dequeue
 *   dispatch                                     dispatch
 *   running                                      running, or take_cpu if the machine does not know the task
 *   stopping(runnable)                           stopping
 *   stopping(!runnable), quiescent(SLEEP)        stopping, quiescent
 *   stopping(!runnable), quiescent               stopping: the kernel changes an attribute, and puts the task back
 *   exit_task                                    exit (with lazy removal: quiescent of a task that has ended)
 *   yield, set_weight, set_cpumask               yield, set_weight, set_allowed
 *   cgroup_init, cgroup_set_weight               set_group
 *   cgroup_move                                  enter_group
 *   cpu_release, update_idle                     take_cpu
 *   a tracepoint: exec                           set_program
 *
 * The machine is one object under one lock, because its policies choose from one run queue. No kernel function may be
 * called under the lock. So each op tells its events under the lock, releases it, and then does what the answers say.
 * The state may have changed in between; the kernel notices that by itself, as it takes a dispatch only of a task that
 * is still as it was.
 *
 * This file has the ops of the scheduler, of tasks and of CPUs, in the order of a task's life. The parts are in host/:
 *
 *   state.h         configuration, counters, the machine and its lock
 *   shards.h        several machines, each for some CPUs; shard_cpus.h
 *   published.h     what shards know of each other: by_tag.h, or by_service.h
 *   survey.h        what a CPU finds that looks at them
 *   reachable.h     who waits that may run in another shard; reach_sets.h
 *   moves.h         a task goes to another shard
 *   taking.h        a CPU takes a task from another shard
 *   machines.h      the machines begin
 *   events.h        telling an event to the machine; kicking a CPU
 *   decision_log.h  the record of each event
 *   tasks.h         ids, per-task state, references
 *   ids.h           a task gets an id, at its start or later
 *   statistics.h    accounts: service received and entitled
 *   attributes.h    weights and allowed CPUs
 *   weighing.h      who works out weights; reweighed.h: whose have changed
 *   groups.h        groups of tasks, by cgroup or user
 *   cgroups.h       the ops of cgroups
 *   quotas.h        limits of CPU time (cpu.max): what tasks take from them
 *   holding.h       tasks are held while a limit is used up; holding_in_shards.h
 *   bandwidth.h     limits, read from the kernel
 *   users.h         users, and whom they belong to
 *   rules.h         weights by executable, cgroup and user; task_rules.h
 *   programs.h      which program a task executes
 *   slices.h        a slice's length, in the policy's terms and in the kernel's; crowd.h: for very many tasks
 *   handing_over.h  a task comes into a machine's custody
 *   cpu_queues.h    sending a picked task to its CPU
 *   kernel_threads.h: kernel threads
 *   fallback.h      tasks without an id
 *   starvation.h    the starvation limit; timers.h
 *   around_policy.h what a CPU dispatches without asking the policy
 *   taken_cpus.h    a CPU runs something that the machine does not schedule
 *   stopping.h      a task goes off its CPU, or to sleep
 *   commands.h      what the loader can ask
 *   ending.h        the scheduler ends
 */
#include "host/around_policy.h"
#include "host/attributes.h"
#include "host/bandwidth.h"
#include "host/cgroups.h"
#include "host/commands.h"
#include "host/cpu_queues.h"
#include "host/crowd.h"
#include "host/decision_log.h"
#include "host/ending.h"
#include "host/events.h"
#include "host/fallback.h"
#include "host/groups.h"
#include "host/handing_over.h"
#include "host/holding.h"
#include "host/ids.h"
#include "host/kernel_threads.h"
#include "host/machines.h"
#include "host/moves.h"
#include "host/programs.h"
#include "host/published.h"
#include "host/quotas.h"
#include "host/reachable.h"
#include "host/rules.h"
#include "host/slices.h"
#include "host/shard_cpus.h"
#include "host/starvation.h"
#include "host/state.h"
#include "host/statistics.h"
#include "host/stopping.h"
#include "host/taking.h"
#include "host/taken_cpus.h"
#include "host/task_rules.h"
#include "host/tasks.h"
#include "host/timers.h"
#include "host/users.h"
#include "host/weighing.h"

/* ---- the scheduler starts; a task starts, or was there before ---- */

SEC("struct_ops.s/init")
s32 BPF_PROG(host_init)
{
	s32 error = scx_bpf_create_dsq(FALLBACK, -1);

	init_machines();
	measure_crowd();
	if (config.users)
		make_group(OTHER_USERS, ROOT, WEIGHT_NICE_0, ROOT);
	return error ?: create_cpu_dsqs() ?: prepare_release_timer() ?: start_starvation_timer();
}

SEC("struct_ops/init_task")
s32 BPF_PROG(host_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u32 group = ROOT;
	u64 none = 0;

	set_dsq_vtime(p, 0);
	if (p->flags & PF_KTHREAD)
		return 0;
	if (config.cgroups && bpf_core_field_exists(args->cgroup))
		group = group_of_cgroup(args->cgroup);
	if (config.fail_every && (__sync_fetch_and_add(&tasks_seen, 1) + 1) % config.fail_every == 0)
		none = NO_ID_EVER;
	else /* The kernel sets real_parent later; the one that forks is the one that runs here. */
		make_known(p, group, args->fork, args->fork ? id_of(bpf_get_current_task_btf()) : 0);
	if (!id_of(p)) {
		set_dsq_vtime(p, none | (u64)group << NO_ID_GROUP);
		has_without_id = true;
		__sync_fetch_and_add(&stats.without_id, 1);
	}
	return 0;
}

/* ---- its attributes change ---- */

SEC("struct_ops/set_cpumask")
void BPF_PROG(host_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	if (living_id(p))
		set_allowed(id_of(p), mask);
}

/* The kernel's argument is rounded, and not used. A weight set by a command holds until the kernel's weight changes. */
SEC("struct_ops/set_weight")
void BPF_PROG(host_set_weight, struct task_struct *p, u32 rounded)
{
	u32 id = living_id(p);

	if (!id || (!host_task(id)->has_own_weight && host_task(id)->weight == exact_weight(p)))
		return;
	set_weight(id, exact_weight(p), false);
}

/* ---- it waits for a CPU ---- */

/* Returns the previous CPU. The machine chooses a CPU when the task is enqueued; to ask it here as well would be a
 * race. */
SEC("struct_ops/select_cpu")
s32 BPF_PROG(host_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

SEC("struct_ops/enqueue")
void BPF_PROG(host_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct event e = { .id = id_of(p), .now = clock_ns() };
	u32 id = e.id;
	struct host_task *t = host_task(id);
	u64 rest;

	if (p->flags & PF_KTHREAD) {
		enqueue_kernel_thread(p, enq_flags);
		return;
	}
	if (!t->has_reference && id) {
		t->sum_exec_counted = t->sum_exec_limited = p->se.sum_exec_runtime;
		take_reference(p, id);
	}
	if (!id || !t->has_reference) {
		enqueue_fallback(p, enq_flags);
		return;
	}
	if (config.users)
		follow_user(p, id);
	rest = remaining_slice(p, id);
	/* Called from host_cpu_release: the task may run elsewhere. */
	if (rest && enq_flags & SCX_ENQ_REENQ) {
		t->interrupted = true;
		rest = 0;
	} else if (!rest && has_slice_here(p, id)) {
		e.slice = expire(id);
		if (e.slice)
			rest = begin_slice(p, &e);
	}
	if (rest) {
		insert_local(p, same_kernel_slice(p, id, rest), enq_flags);
		__sync_fetch_and_add(&stats.kept, 1);
		return;
	}
	/* The kernel says by set_cpumask that it may only run here now. */
	if (is_migration_disabled(p, enq_flags & SCX_ENQ_REENQ ? 2 : 1))
		__sync_fetch_and_add(&stats.pinned, 1);
	hand_over(p, id, e.now);
}

SEC("struct_ops/dequeue")
void BPF_PROG(host_dequeue, struct task_struct *p, u64 deq_flags)
{
	struct event e = { .id = id_of(p), .now = clock_ns() };
	u32 shard = shard_of(e.id);
	struct bpf_spin_lock *lock;
	bool held;

	if (!e.id || !is_taken_back(p, e.id, deq_flags))
		return;
	lock = lock_of(shard);
	if (!lock)
		return;
	bpf_spin_lock(lock);
	held = is_held(e.id);
	if (held)
		take_back_held(e.id, e.now);
	else
		tell(shard, EVENT_dequeue, &e);
	host_task(e.id)->sent_to = 0;
	publish(shard);
	bpf_spin_unlock(lock);
	if (held)
		settle_hold(e.id, 0);
	else
		log_event(shard, EVENT_dequeue, &e, 0, 0, 0);
}

/* ---- it runs ---- */

/* In this order: the task that the CPU waits for, every other time a kernel thread, the fallback DSQ, a starved task, the rest of
 * a long slice, the policy, and if that has nothing whatever there is. */
SEC("struct_ops/dispatch")
void BPF_PROG(host_dispatch, s32 kernel_cpu, struct task_struct *prev)
{
	u32 cpu = machine_cpu(kernel_cpu), shard = shard_of_cpu(cpu), local = local_cpu(cpu);
	struct event e = { .cpu = local, .now = time_of_dispatch(prev) };
	bool stays = stays_runnable(prev), admitted;
	struct host_cpu *c = host_cpu(cpu);
	struct bpf_spin_lock *lock;
	u32 promised;
	u64 granted;

	if (cpu == NO_CPU)
		return;
	if (catch_up())
		e.now = clock_ns();
	c->asked = e.now;
	if (is_expecting(kernel_cpu, &c->late))
		return;
	if (has_others(c) && dispatch_other(kernel_cpu, cpu))
		return;
	if (stays && continue_slice(ARGUMENT_ANEW(1, prev)))
		return;
	if (config.limits)
		end_limited_slice(ARGUMENT_ANEW(1, prev));
	if (dispatch_behind(kernel_cpu, cpu, ARGUMENT_ANEW(1, prev), e.now))
		return;
	end_visit(ARGUMENT_ANEW(1, prev), cpu, e.now);
	sample_lock(shard);
	lock = lock_of(shard);
	if (!lock)
		return;
	bpf_spin_lock(lock);
	promised = promised_to(shard, local);
	put_ended_visit(shard, cpu);
	tell(shard, EVENT_dispatch, &e);
	granted = e.slice;
	e.slice = slice_in_crowd(shard, granted);
	admitted = !config.limits || admit(&e);
	host_task(e.id)->sent_to = kernel_cpu + 1;
	host_task(e.id)->dispatched = e.now;
	tell_dispatched(shard, cpu, e.id);
	bpf_spin_unlock(lock);
	log_event(shard, EVENT_dispatch, &e, granted, e.id, local);
	log_ended_visit(shard, cpu, e.id);
	kick(shard, e.cpu);
	if (e.cpu == NO_CPU && promised != e.id)
		call_elsewhere(promised);
	admitted = admitted && admit_apart(&e, kernel_cpu);
	/* Meanwhile its group may have a new period. Then it is not held, and runs. */
	if (!admitted && hold_back(e.id, host_task(e.id)->sum_exec_limited, cpu)) {
		scx_bpf_kick_cpu(kernel_cpu, 0); /* to ask again */
		return;
	}
	prev = ARGUMENT_ANEW(1, prev);
	if (!e.id) {
		if (!(has_others(c) && dispatch_rest(kernel_cpu, cpu)) && e.cpu != local)
			steal(kernel_cpu, shard);
		/* It is to ask again. A kick of an idle CPU would not do: it is not idle yet. */
		if (e.cpu == local)
			scx_bpf_kick_cpu(kernel_cpu, 0);
	} else if (prev && id_of(prev) == e.id) {
		set_slice(prev, begin_slice(prev, &e));
	} else if (!send(&e, kernel_cpu, &c->late)) {
		scx_bpf_kick_cpu(kernel_cpu, 0);
	}
}

/* The machine does not know a task that runs while the scheduler is being loaded, a kernel thread, or a task without an id: its CPU is
 * taken. */
SEC("struct_ops/running")
void BPF_PROG(host_running, struct task_struct *p)
{
	struct event e = { .id = id_of(p) };
	u32 shard = shard_of(e.id);
	struct bpf_spin_lock *lock;

	answer_caller_on_cpu_of(p);
	if (!e.id || !(machine_task(machine_at(shard), e.id)->state & RUNNABLE)) {
		take_cpu(machine_cpu(scx_bpf_task_cpu(p)));
		return;
	}
	shard = begin_visit(p, e.id);
	e.now = host_task(e.id)->dispatched ?: clock_ns();
	host_task(e.id)->sum_exec_at_run = p->se.sum_exec_runtime;
	if (config.limits)
		host_task(e.id)->sum_exec_limited = p->se.sum_exec_runtime;
	lock = lock_of(shard);
	if (!lock)
		return;
	bpf_spin_lock(lock);
	tell(shard, EVENT_running, &e);
	count(stats.switches);
	count_run(e.id, e.now);
	bpf_spin_unlock(lock);
	log_event(shard, EVENT_running, &e, 0, 0, 0);
	if (has_without_id)
		follow_process(p, e.id);
}

/* If the task is no longer runnable, quiescent follows, and tells both events. The op is needed for that case, too: without it the kernel
 * brings sum_exec up to date only after quiescent, and what a task ran since the last tick would never be charged. A task
 * without an id may find one now. */
SEC("struct_ops/stopping")
void BPF_PROG(host_stopping, struct task_struct *p, bool runnable)
{
	if (!id_of(p))
		adopt(p);
	else if (runnable)
		off_cpu(p, id_of(p));
}

SEC("struct_ops/quiescent")
void BPF_PROG(host_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 id = id_of(p);
	bool ended = p->__state & TASK_DEAD;

	if (!id)
		return;
	if (!(deq_flags & DEQ_SLEEP)) {
		/* The kernel changes an attribute, and puts the task back in a moment. Its slice is not over. */
		off_cpu(p, id);
		return;
	}
	no_longer_runnable(p, id, ended ? EXITED : BLOCKED);
	if (p->flags & PF_EXITING) {
		close_account(p, id);
		drop_reference(id);
	}
	if (HAS(DISCARD) && ended)
		task_ended(id);
}

SEC("struct_ops/yield")
bool BPF_PROG(host_yield, struct task_struct *from, struct task_struct *to)
{
	/* Without a time, so the machine's last one holds: to read a clock takes 45 instructions, and is no use here. */
	struct event e = { .id = id_of(from) };
	struct bpf_spin_lock *lock;
	u32 shard;

	if (to)
		return false;
	set_slice(from, 0);
	if (!e.id)
		return false;
	e.cpu = machine_cpu(scx_bpf_task_cpu(from));
	shard = shard_of_cpu(e.cpu);
	e.cpu = local_cpu(e.cpu);
	lock = lock_of(shard);
	if (!lock)
		return false;
	bpf_spin_lock(lock);
	tell(shard, EVENT_yield, &e);
	bpf_spin_unlock(lock);
	log_event(shard, EVENT_yield, &e, 0, 0, 0);
	return false;
}

/* If the CPU leaves idleness for a task of the machine, the machine knows. If it does so for a real-time task, cpu_release is
 * not called. */
SEC("struct_ops/update_idle")
void BPF_PROG(host_update_idle, s32 cpu, bool idle)
{
	if (idle)
		return;
	take_cpu(machine_cpu(cpu));
	answer_caller(cpu);
}

/* A real-time task took the CPU. The tasks in its local queue are enqueued again, and may run elsewhere. With one CPU there is no elsewhere:
 * the slice that was interrupted goes on, unless a task that woke meanwhile may be one that preempts it: nothing would ask for that one. */
SEC("struct_ops/cpu_release")
void BPF_PROG(host_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	take_cpu(machine_cpu(cpu));
	if ((HAS(PREEMPTS) || config.config.ncpus > 1) && args->reason != SCX_CPU_PREEMPT_STOP &&
	    ksym_exists(scx_bpf_reenqueue_local))
		scx_bpf_reenqueue_local();
}

/* ---- it leaves; the scheduler ends ---- */

/* The task leaves for another scheduling class, or this scheduler is unloaded. */
SEC("struct_ops/disable")
void BPF_PROG(host_disable, struct task_struct *p)
{
	u32 id = living_id(p);

	if (!id)
		return;
	no_longer_runnable(p, id, BLOCKED);
	close_account(p, id);
	drop_reference(id);
}

SEC("struct_ops/exit_task")
void BPF_PROG(host_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 id = id_of(p);
	bool free;

	if (!id) {
		if (!(p->flags & PF_KTHREAD))
			__sync_fetch_and_sub(&stats.without_id, 1);
		return;
	}
	task_ended(id);
	forget_reach(id);
	bpf_spin_lock(&lock);
	accounts[id & POOL_MASK].pid = 0;
	stats.tasks--;
	release_id(process_holder(id));
	free = release_id(id);
	bpf_spin_unlock(&lock);
	/* A leader's id stands for its process as long as that has threads, also for those that start after its end. */
	if (free)
		set_dsq_vtime(p, 0);
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
	.update_idle = (void *)host_update_idle,
	.cpu_release = (void *)host_cpu_release,
	.init_task = (void *)host_init_task,
	.exit_task = (void *)host_exit_task,
	.disable = (void *)host_disable,
	.cgroup_init = (void *)host_cgroup_init,
	.cgroup_set_weight = (void *)host_cgroup_set_weight,
	.cgroup_set_bandwidth = (void *)host_cgroup_set_bandwidth,
	.cgroup_move = (void *)host_cgroup_move,
	.cgroup_exit = (void *)host_cgroup_exit,
	.dump = (void *)host_dump,
	.init = (void *)host_init,
	.exit = (void *)host_exit,
	.flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING,
	.exit_dump_len = EXIT_DUMP_LEN,
	.name = "divvy_" STRING(DIVVY_POLICY),
};

char _license[] SEC("license") = POLICY_LICENSE;
