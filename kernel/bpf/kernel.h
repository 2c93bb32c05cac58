/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel's interface, as far as the BPF host uses it. Types have only the fields that are read; where they are is
 * found in the running kernel's BTF at load (CO-RE). Functions are declared under their names of 6.12 and of later
 * kernels; the ones that the running kernel does not have are left out at load.
 */
#ifndef DIVVY_KERNEL_H
#define DIVVY_KERNEL_H

#include "policy.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define s32 __s32
#ifndef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC 1
#endif
#define KERNEL_TYPE __attribute__((preserve_access_index))
#define ksym_exists(sym) (&sym != 0)
#ifndef __kptr
#define __kptr __attribute__((btf_type_tag("kptr")))
#endif

struct cpumask {
	unsigned long bits[1];
} KERNEL_TYPE;

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
} KERNEL_TYPE;

struct sched_ext_entity {
	u32 flags;
	u64 slice;
	u64 dsq_vtime;
	unsigned long runnable_at; /* jiffies, for the kernel's watchdog: since then it has waited */
} KERNEL_TYPE;

typedef struct {
	u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
} KERNEL_TYPE;

struct file;

struct mm_struct {
	unsigned long arg_start;
	unsigned long arg_end;
	struct file *exe_file;
} KERNEL_TYPE;

struct super_block {
	u32 s_dev;
} KERNEL_TYPE;

struct inode {
	kuid_t i_uid;
	unsigned long i_ino;
	s64 i_size;
	struct super_block *i_sb;
	s64 i_mtime_sec; /* since 6.11 */
} KERNEL_TYPE;

struct file {
	struct inode *f_inode;
} KERNEL_TYPE;

struct cgroup;

struct css_set {
	struct cgroup *dfl_cgrp; /* in the hierarchy of cgroup v2 */
} KERNEL_TYPE;

struct linux_binprm {
	struct file *file;
} KERNEL_TYPE;

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int static_prio;
	unsigned int policy;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	unsigned short migration_disabled;
	struct sched_entity se;
	struct sched_ext_entity scx;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	const struct cred *real_cred;
	struct mm_struct *mm;
	struct css_set *cgroups;
	char comm[16];
} KERNEL_TYPE;

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000
#define TASK_DEAD 0x00000080
#define SCHED_IDLE 5
#define NICE_0_PRIO 120

struct kernfs_node {
	u64 id;
} KERNEL_TYPE;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} KERNEL_TYPE;

struct cgroup {
	struct cgroup_subsys_state self;
	int level; /* 0 is the root */
	struct kernfs_node *kn;
	struct cgroup_subsys_state *subsys[2]; /* by controller */
	struct cgroup *ancestors[];            /* by level, itself the last */
} KERNEL_TYPE;

/* The index differs between kernels. */
enum cgroup_subsys_id___any { cpu_cgrp_id = 1 };
#define CPU_CONTROLLER bpf_core_enum_value(enum cgroup_subsys_id___any, cpu_cgrp_id)

struct cfs_bandwidth {
	s64 period; /* ns */
	u64 quota;  /* ns; or NO_QUOTA */
	u64 burst;  /* ns */
} KERNEL_TYPE;

#define NO_QUOTA (~0ull)

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_bandwidth cfs_bandwidth;
} KERNEL_TYPE;

struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;
} KERNEL_TYPE;

struct scx_cgroup_init_args {
	u32 weight;
} KERNEL_TYPE;

struct scx_exit_task_args {
	bool cancelled;
} KERNEL_TYPE;

enum scx_cpu_preempt_reason { SCX_CPU_PREEMPT_STOP = 2 };

struct scx_cpu_release_args {
	enum scx_cpu_preempt_reason reason;
} KERNEL_TYPE;

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
	char *dump;
} KERNEL_TYPE;

struct scx_dump_ctx;

/* The ops that the host has. The loader leaves out those that the running kernel does not know. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	void (*update_idle)(s32 cpu, bool idle);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*disable)(struct task_struct *p);
	s32 (*cgroup_init)(struct cgroup *cgroup, struct scx_cgroup_init_args *args);
	void (*cgroup_set_weight)(struct cgroup *cgroup, u32 weight);
	void (*cgroup_set_bandwidth)(struct cgroup *cgroup, u64 period_us, u64 quota_us, u64 burst_us);
	void (*cgroup_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_exit)(struct cgroup *cgroup);
	void (*dump)(struct scx_dump_ctx *ctx);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u32 dispatch_max_batch;
	u64 flags;
	u32 timeout_ms;
	u32 exit_dump_len;
	u64 hotplug_seq;
	char name[128];
};

#define SCX_OPS_ENQ_LAST (1ull << 1)
#define SCX_OPS_ENQ_EXITING (1ull << 2)

#define SCX_TASK_QUEUED 1
#define SCX_SLICE_DFL (20 * 1000000ull)
#define SCX_DSQ_LOCAL ((1ull << 63) | 2)
#define SCX_ENQ_WAKEUP 1ull
#define SCX_ENQ_PREEMPT (1ull << 32)
#define SCX_ENQ_REENQ (1ull << 40)
#define SCX_ENQ_LAST (1ull << 41)
#define SCX_KICK_IDLE (1ull << 0)
#define SCX_KICK_PREEMPT (1ull << 1)

/* These two bits differ between kernels. */
enum scx_enq_flags___any { SCX_ENQ_HEAD = 1 << 16 };
#define ENQ_HEAD bpf_core_enum_value(enum scx_enq_flags___any, SCX_ENQ_HEAD)
enum scx_deq_flags___any { SCX_DEQ_SLEEP = 1 };
#define DEQ_SLEEP bpf_core_enum_value(enum scx_deq_flags___any, SCX_DEQ_SLEEP)

/* Kernels that have this flag call dequeue for a task that is dispatched, too. It says that the kernel changes the task. */
enum scx_deq_flags___change { SCX_DEQ_CORE_SCHED_EXEC = 1ull << 32, SCX_DEQ_SCHED_CHANGE = 1ull << 33 };
#define DEQ_FLAG(name) bpf_core_enum_value(enum scx_deq_flags___change, name)

extern struct task_struct *bpf_task_acquire(struct task_struct *p) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
extern void bpf_cgroup_release(struct cgroup *cgroup) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;

extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern s32 scx_bpf_create_dsq(u64 dsq, s32 node) __ksym;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
extern u32 scx_bpf_reenqueue_local(void) __ksym __weak;
extern void scx_bpf_dump_bstr(char *fmt, unsigned long long *data, u32 data_len) __ksym __weak;
extern u64 scx_bpf_now(void) __ksym __weak;
extern u32 scx_bpf_nr_cpu_ids(void) __ksym __weak;

extern void scx_bpf_dispatch(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags) __ksym __weak;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags) __ksym __weak;
extern bool scx_bpf_dsq_insert___v2(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags) __ksym __weak;
extern void scx_bpf_dispatch_cancel(void) __ksym;
extern bool scx_bpf_consume(u64 dsq) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local(u64 dsq) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local___v2(u64 dsq, u64 enq_flags) __ksym __weak;

extern bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) __ksym __weak;
extern bool scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime) __ksym __weak;

/* Kernels that have these functions are going to refuse programs that write the fields themselves. */
static __always_inline void set_slice(struct task_struct *p, u64 slice)
{
	if (ksym_exists(scx_bpf_task_set_slice))
		scx_bpf_task_set_slice(p, slice);
	else
		p->scx.slice = slice;
}

static __always_inline void set_dsq_vtime(struct task_struct *p, u64 vtime)
{
	if (ksym_exists(scx_bpf_task_set_dsq_vtime))
		scx_bpf_task_set_dsq_vtime(p, vtime);
	else
		p->scx.dsq_vtime = vtime;
}

static __always_inline void dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags)
{
	if (ksym_exists(scx_bpf_dsq_insert___v2))
		scx_bpf_dsq_insert___v2(p, dsq, slice, enq_flags);
	else if (ksym_exists(scx_bpf_dsq_insert))
		scx_bpf_dsq_insert(p, dsq, slice, enq_flags);
	else
		scx_bpf_dispatch(p, dsq, slice, enq_flags);
}

static __always_inline bool dsq_consume(u64 dsq)
{
	if (ksym_exists(scx_bpf_dsq_move_to_local___v2))
		return scx_bpf_dsq_move_to_local___v2(dsq, 0);
	if (ksym_exists(scx_bpf_dsq_move_to_local))
		return scx_bpf_dsq_move_to_local(dsq);
	return scx_bpf_consume(dsq);
}

/* A running BPF program itself disables migration of the current task, so for that task as many levels as there are
 * `nested` programs do not count. */
static __always_inline bool is_migration_disabled(const struct task_struct *p, u32 nested)
{
	if (!bpf_core_field_exists(p->migration_disabled))
		return false;
	return p->migration_disabled && p->migration_disabled > (p == bpf_get_current_task_btf() ? nested : 0);
}

/* Whether the task's mask has every possible CPU. Masks have offline CPUs as well, so the number of online CPUs would
 * say nothing here. */
static __always_inline bool may_run_anywhere(const struct task_struct *p)
{
	return ksym_exists(scx_bpf_nr_cpu_ids) && (u32)p->nr_cpus_allowed >= scx_bpf_nr_cpu_ids();
}

/* The number of a cgroup's ancestor, or its own */
static __always_inline u64 cgroup_at(struct cgroup *cgroup, u32 level)
{
	struct cgroup **ancestors = cgroup->ancestors, *ancestor;
	struct kernfs_node *kn;
	u64 key = 0;

	bpf_probe_read_kernel(&ancestor, sizeof(ancestor), ancestors + level);
	bpf_probe_read_kernel(&kn, sizeof(kn), &ancestor->kn);
	bpf_probe_read_kernel(&key, sizeof(key), &kn->id);
	return key;
}

/* The kernel's sched_prio_to_weight. p->scx.weight is the same, but rounded to a hundredth of nice 0. */
static const u32 nice_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, /* -20 to -11 */
	9548,  7620,  6100,  4904,  3906,  3121,  2501,  1991,  1586,  1277,  /* -10 to -1 */
	1024,  820,   655,   526,   423,   335,   272,   215,   172,   137,   /* 0 to 9 */
	110,   87,    70,    56,    45,    36,    29,    23,    18,    15,    /* 10 to 19 */
};

static __always_inline u64 exact_weight(const struct task_struct *p)
{
	u32 i = p->static_prio - (NICE_0_PRIO - 20);

	if (p->policy == SCHED_IDLE)
		return 3ull << 10; /* WEIGHT_IDLEPRIO */
	return (u64)nice_weight[i < 40 ? i : 20] << 10;
}

/* The n-th argument of an op, from 0, read from where the kernel left it. Between two uses no register holds it, so that the
 * verifier does not look at all in between twice, with a task and without. */
#ifdef __BPF__
#define ARGUMENT_ANEW(n, argument) ((typeof(argument))((volatile unsigned long long *)ctx)[n])
#else
#define ARGUMENT_ANEW(n, argument) (argument)
#endif

#endif
