/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel's types as far as the recorder reads them, and what it hands to user space. Where the kernel's fields are is
 * found in the running kernel's BTF at load (CO-RE).
 */
#ifndef DIVVY_RECORD_H
#define DIVVY_RECORD_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;

#define KERNEL_TYPE __attribute__((preserve_access_index))
#define ksym_exists(sym) (&sym != 0)

struct sched_entity {
	u64 sum_exec_runtime;
} KERNEL_TYPE;

struct kernfs_node {
	u64 id;
} KERNEL_TYPE;

struct cgroup_root {
	int hierarchy_id; /* 0 is version 2's */
} KERNEL_TYPE;

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
} KERNEL_TYPE;

struct css_set {
	struct cgroup *dfl_cgrp;
} KERNEL_TYPE;

struct thread_info {
	u32 cpu;
	u32 preempt_count;
} KERNEL_TYPE;

struct task_struct {
	struct thread_info thread_info;
	int exit_state;
	int prio;
	struct sched_entity se;
	int pid;
	int tgid;
	struct css_set *cgroups;
	char comm[16];
} KERNEL_TYPE;

struct pcpu_hot___any {
	int preempt_count;
} KERNEL_TYPE;

/* x86 keeps the count of a CPU, in one of these; others keep it with the current task. */
extern struct pcpu_hot___any pcpu_hot __ksym __weak;
extern int __preempt_count __ksym __weak;

#define PREEMPT_IN_SOFT 0x00000100
#define PREEMPT_IN_HARD 0x000f0000

/* As in `common_flags` of a tracepoint: TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ. */
#define IN_HARD 0x08
#define IN_SOFT 0x10

enum kind {
	EVENT_SWITCH = 1,
	EVENT_WAKING,
	EVENT_WAKEUP_NEW,
	EVENT_MIGRATE,
	EVENT_FORK,
	EVENT_EXIT,
	EVENT_RENAME,
	EVENT_EXEC,
};

#define FLAG_PREEMPTED 1 /* of a switch: the thread that leaves would have gone on */
#define FLAG_RUNTIME 2   /* of a switch: runtime_ns is known */

/* One slot. kernel/src/record/event.rs reads it by these offsets. */
struct event {
	u64 sequence; /* its position, and 1; written last */
	u64 t_ns;     /* CLOCK_MONOTONIC */
	u8 kind;
	u8 flags;
	u8 context; /* IN_HARD, IN_SOFT */
	u8 unused;
	u32 lost;    /* events of this CPU that found no slot, just before */
	s32 process; /* of the current thread */
	s32 tid;
	union {
		struct { /* at 32 */
			u32 state;
			u32 exit_state;
			s32 next_tid;
			s16 prio;
			s16 next_prio;
			u64 runtime_ns; /* since the thread got this CPU */
			u64 cgroup;
			char comm[16];
			char next_comm[16];
		} leave;
		struct { /* at 32: the thread that it is about */
			s32 tid;
			s32 process;
			s32 prio;
			s32 cpu;      /* where it is */
			s32 next_cpu; /* of a migration */
			s32 unused[3];
			char comm[16];
			u64 unused2[2];
		} task;
	};
};

/* A CPU's state. User space writes `tail` only, which has a cache line of its own. */
struct cpu {
	u64 head;
	u64 lost;
	u64 runtime_ns; /* of the thread that got the CPU, at that time */
	u64 tid;
	u64 lost_paths; /* of cgroups */
	u64 unused[3];
	u64 tail;
	u64 unused2[7];
};

_Static_assert(sizeof(struct event) == 96, "as kernel/src/record/event.rs has it");
_Static_assert(sizeof(struct cpu) == 128, "as kernel/src/record/sys.rs has it");

/* The path of a new cgroup. */
struct path {
	u64 cgroup;
	char text[248];
};

#endif
