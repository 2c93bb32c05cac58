/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Records what the scheduler does: a program for each tracepoint writes an event of a fixed size into its CPU's ring.
 *
 * The rings are arrays that user space maps. A BPF ring buffer would do as well, but it takes a lock for each event. A ring has one producer, its CPU: what interrupts a program there takes the next slot.
 * So the slot's position is taken with one atomic addition, and its sequence number, which is written last, says that it
 * is complete. User space looks into the rings by its own clock and never is woken.
 */
#include "record.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Slots of a ring, a power of two, and how many of them may be taken: programs that interrupt each other between the check and the
 * addition find the rest. */
const volatile u32 slots SEC(".rodata.record") = 1;
const volatile u32 most_taken SEC(".rodata.record") = 0;
/* CPUs that have a ring. One that came online later has none: its events are lost, and counted. */
const volatile u32 rings SEC(".rodata.record") = 1;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* rings x slots */
	__type(key, u32);
	__type(value, struct event);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} paths SEC(".maps");

static __always_inline struct cpu *this_cpu(u32 *id)
{
	*id = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&cpus, id);
}

/* A slot with the current thread in it, or NULL if none is free. */
static __always_inline struct event *begin(u32 id, struct cpu *cpu, u8 kind, s32 process, s32 tid)
{
	u64 position = *(volatile u64 *)&cpu->head;
	struct event *event;
	u32 index;

	if (id >= rings || position - *(volatile u64 *)&cpu->tail >= most_taken) {
		__sync_fetch_and_add(&cpu->lost, 1);
		return NULL;
	}
	position = __sync_fetch_and_add(&cpu->head, 1);
	index = id * slots + (position & (slots - 1));
	event = bpf_map_lookup_elem(&events, &index);
	if (!event)
		return NULL;
	event->sequence = position; /* not complete */
	event->t_ns = bpf_ktime_get_ns();
	event->kind = kind;
	event->flags = 0;
	event->context = 0;
	/* In one step: an interrupt that comes between takes what is there, and not the same once more. */
	event->lost = cpu->lost ? __sync_lock_test_and_set(&cpu->lost, 0) : 0;
	event->process = process;
	event->tid = tid;
	return event;
}

/* The exchange orders what was written before it, on every architecture. */
static __always_inline void end(struct event *event)
{
	__sync_lock_test_and_set(&event->sequence, event->sequence + 1);
}

static __always_inline u32 preempt_count(void)
{
#if defined(__TARGET_ARCH_x86)
	if (ksym_exists(__preempt_count))
		return *(u32 *)bpf_this_cpu_ptr(&__preempt_count);
	if (bpf_core_type_exists(struct pcpu_hot___any))
		return ((struct pcpu_hot___any *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
#else
	struct task_struct *current = bpf_get_current_task_btf();

	if (bpf_core_field_exists(current->thread_info.preempt_count))
		return current->thread_info.preempt_count;
#endif
	return 0;
}

static __always_inline u8 context(void)
{
	u32 count = preempt_count();

	return (count & PREEMPT_IN_HARD ? IN_HARD : 0) | (count & PREEMPT_IN_SOFT ? IN_SOFT : 0);
}

/* An event about a thread, by the current one. */
static __always_inline struct event *begin_about(u8 kind, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct event *event;
	struct cpu *cpu;
	u32 id;

	cpu = this_cpu(&id);
	if (!cpu)
		return NULL;
	event = begin(id, cpu, kind, current->tgid, current->pid);
	if (!event)
		return NULL;
	event->task.tid = task->pid;
	event->task.process = task->tgid;
	event->task.prio = task->prio;
	event->task.cpu = bpf_core_field_exists(task->thread_info.cpu) ? task->thread_info.cpu : id;
	__builtin_memcpy(event->task.comm, task->comm, 16);
	return event;
}

/* The kernel has brought sum_exec_runtime up to date before it switches. So its sched_stat_runtime, which comes several times a run,
 * is not needed. */
SEC("tp_btf/sched_switch")
int BPF_PROG(record_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	u64 before, before_tid;
	struct event *event;
	struct cpu *cpu;
	u32 id;

	cpu = this_cpu(&id);
	if (!cpu)
		return 0;
	before = cpu->runtime_ns;
	before_tid = cpu->tid;
	cpu->runtime_ns = next->se.sum_exec_runtime;
	cpu->tid = next->pid;
	event = begin(id, cpu, EVENT_SWITCH, prev->tgid, prev->pid);
	if (!event)
		return 0;
	if (preempt)
		event->flags |= FLAG_PREEMPTED;
	if (prev->pid && before_tid == prev->pid) {
		event->flags |= FLAG_RUNTIME;
		event->leave.runtime_ns = prev->se.sum_exec_runtime - before;
	}
	event->leave.state = prev_state;
	event->leave.exit_state = prev->exit_state;
	event->leave.next_tid = next->pid;
	event->leave.prio = prev->prio;
	event->leave.next_prio = next->prio;
	event->leave.cgroup = prev->cgroups->dfl_cgrp->kn->id;
	__builtin_memcpy(event->leave.comm, prev->comm, 16);
	__builtin_memcpy(event->leave.next_comm, next->comm, 16);
	end(event);
	return 0;
}

/* One of these two is loaded: not every kernel lets programs see the count. */
SEC("?tp_btf/sched_waking")
int BPF_PROG(record_waking, struct task_struct *task)
{
	struct event *event = begin_about(EVENT_WAKING, task);

	if (event) {
		event->context = context();
		end(event);
	}
	return 0;
}

SEC("?tp_btf/sched_waking")
int BPF_PROG(record_waking_blind, struct task_struct *task)
{
	struct event *event = begin_about(EVENT_WAKING, task);

	if (event)
		end(event);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(record_wakeup_new, struct task_struct *task)
{
	struct event *event = begin_about(EVENT_WAKEUP_NEW, task);

	if (event)
		end(event);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(record_migrate, struct task_struct *task, int cpu)
{
	struct event *event = begin_about(EVENT_MIGRATE, task);

	if (event) {
		event->task.next_cpu = cpu;
		end(event);
	}
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(record_fork, struct task_struct *parent, struct task_struct *child)
{
	struct event *event = begin_about(EVENT_FORK, child);

	if (event)
		end(event);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(record_exit, struct task_struct *task)
{
	struct event *event = begin_about(EVENT_EXIT, task);

	if (event)
		end(event);
	return 0;
}

/* The task still has its old name here. */
SEC("tp_btf/task_rename")
int BPF_PROG(record_rename, struct task_struct *task, const char *comm)
{
	struct event *event = begin_about(EVENT_RENAME, task);

	if (event) {
		bpf_probe_read_kernel_str(event->task.comm, sizeof(event->task.comm), comm);
		end(event);
	}
	return 0;
}

/* A thread that is not the first of its process has the first one's number from here on. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(record_exec, struct task_struct *task)
{
	struct event *event = begin_about(EVENT_EXEC, task);
	struct cpu *cpu;
	u32 id;

	cpu = this_cpu(&id);
	if (cpu && cpu->tid)
		cpu->tid = task->pid;
	if (event)
		end(event);
	return 0;
}

SEC("?tp_btf/cgroup_mkdir")
int BPF_PROG(record_cgroup, struct cgroup *cgroup, const char *text)
{
	struct path *path;
	struct cpu *cpu;
	u32 id;

	/* Each hierarchy of version 1 numbers its groups from 1, too. */
	if (cgroup->root->hierarchy_id)
		return 0;
	path = bpf_ringbuf_reserve(&paths, sizeof(*path), 0);
	if (!path) {
		cpu = this_cpu(&id);
		if (cpu)
			__sync_fetch_and_add(&cpu->lost_paths, 1);
		return 0;
	}
	path->cgroup = cgroup->kn->id;
	path->text[0] = 0;
	bpf_probe_read_kernel_str(path->text, sizeof(path->text), text);
	bpf_ringbuf_submit(path, BPF_RB_NO_WAKEUP);
	return 0;
}
