/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The least that a sched_ext scheduler can be: one queue, first in, first out. It shows what sched_ext itself costs, for
 * kernel/bench/cost. It is for the test kernel (Linux 6.12) only.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#define QUEUE 0
#define SLICE_NS 20000000 /* SCX_SLICE_DFL */

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

/* The members that are used; libbpf finds them by name. */
struct sched_ext_ops {
	void (*enqueue)(struct task_struct *p, __u64 enq_flags);
	void (*dispatch)(__s32 cpu, struct task_struct *prev);
	__s32 (*init)(void);
	char name[128];
};

extern __s32 scx_bpf_create_dsq(__u64 dsq, __s32 node) __ksym;
extern void scx_bpf_dispatch(struct task_struct *p, __u64 dsq, __u64 slice, __u64 enq_flags) __ksym;
extern bool scx_bpf_consume(__u64 dsq) __ksym;

SEC("struct_ops/enqueue")
void BPF_PROG(fifo_enqueue, struct task_struct *p, __u64 enq_flags)
{
	scx_bpf_dispatch(p, QUEUE, SLICE_NS, enq_flags);
}

SEC("struct_ops/dispatch")
void BPF_PROG(fifo_dispatch, __s32 cpu, struct task_struct *prev)
{
	scx_bpf_consume(QUEUE);
}

SEC("struct_ops/init") /* sleepable, which fifo.c says: old versions of libbpf do not know it by the section */
__s32 BPF_PROG(fifo_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SEC(".struct_ops")
struct sched_ext_ops fifo = {
	.enqueue = (void *)fifo_enqueue,
	.dispatch = (void *)fifo_dispatch,
	.init = (void *)fifo_init,
	.name = "fifo",
};

char _license[] SEC("license") = "GPL";
