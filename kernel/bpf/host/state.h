/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The state that all parts of the host share: the configuration, the counters, the machine and its lock, and the
 * numbers of CPUs and dispatch queues (DSQs).
 *
 * `lock` guards the machine and every array that says so. No kernel function may be called while it is held. Some
 * fields of the machine are also read without it; such a read is a hint, or concerns a task or CPU that cannot change
 * at that moment (the caller runs on that CPU, or holds the lock of the task's kernel run queue).
 */
#ifndef DIVVY_HOST_STATE_H
#define DIVVY_HOST_STATE_H

#define MACHINE_ENTITLED
#include "kernel.h"
#include POLICY_HEADER
#ifdef PLACEMENT_HEADER
#include PLACEMENT_HEADER
#endif

/* Written by the loader. The verifier knows the value, and removes the code of modifiers that are not loaded. */
const volatile unsigned int modifiers_loaded SEC(".rodata.modifiers") = ~0u;
#define MODIFIERS_LOADED modifiers_loaded
#include "host/reweighed.h"
#include "host.h"

/* Each has a section of its own, because the loader maps them one by one. */
const volatile struct host_config config SEC(".rodata.config") = { .no_sample = ~0u };
struct subordinates subordinates SEC(".data.subordinates"); /* not constant: the verifier would follow each range */
struct host_stats stats SEC(".data.stats");
struct account accounts[POOL] SEC(".data.tasks");
struct host_exit exit_info SEC(".data.exit");

/* With one shard the machine's, and that of ids. With several it is that of ids. */
struct bpf_spin_lock lock SEC(".data.lock") __attribute__((visibility("hidden")));
#include "host/shards.h"

/* DSQs: one for tasks without an id, and for each CPU, by the kernel's number, one for what was picked, and one for kernel
 * threads */
#define FALLBACK 1
#define DSQ_OF_CPU 1024
#define DSQ_OF_KERNEL_THREADS 2048

/* Kernels that have scx_bpf_now have a clock for each CPU. A CPU whose clock is behind the machine's time goes on from there: its clock
 * is corrected by so much from then on. So time goes at the pace of clocks, also when one is far ahead of all others, and
 * never faster than the fastest of them. Older kernels have one clock, which is slower to read. */
static u64 behind[MAX_CPUS];

/* That of the machine whose CPU this is */
static __always_inline u64 machine_time(u32 kernel_cpu)
{
#ifdef DIVVY_SHARDS
	return machine_at(shard_of_cpu(config.cpu[kernel_cpu & CPU_MASK]))->now;
#else
	return machine.now;
#endif
}

static __always_inline u64 clock_ns(void)
{
	u64 now, *correction;
	u32 cpu;

	if (!ksym_exists(scx_bpf_now))
		return bpf_ktime_get_ns();
	cpu = bpf_get_smp_processor_id();
	correction = &behind[cpu & CPU_MASK];
	now = scx_bpf_now() + *correction;
	if ((s64)(machine_time(cpu) - now) <= 0)
		return now;
	*correction += machine_time(cpu) - now;
	return machine_time(cpu);
}

/* A dispatch looks at this before it asks the policy. By the machine's number of a CPU; together, so that one address finds all, and in a
 * cache line of its own, as each dispatch writes there. */
struct host_cpu {
	u64 asked;     /* when the kernel asked for the next task last */
	u32 late;      /* its DSQ has a task that is to run there: cpu_queues.h */
	u32 to_rescue; /* the task that it is to rescue, or 0: starvation.h */
	/* Its DSQ of kernel threads may have one, and its last dispatch took one. Both belong to the holder of the lock of the CPU's
	 * kernel run queue: who enqueues there, and who dispatches there. */
	bool has_kernel_thread;
	bool had_kernel_thread;
} __attribute__((aligned(64)));

struct host_cpu host_cpus[MAX_CPUS];

static __always_inline struct host_cpu *host_cpu(u32 cpu)
{
	return &host_cpus[cpu & CPU_MASK];
}

#ifdef DIVVY_SHARDS
/* A barrier between all that this CPU wrote and all that it reads next: an atomic operation whose result is used. One whose result is not
 * is no barrier on all processors. */
static u64 fences[MAX_CPUS];

static __always_inline void fence(void)
{
	u64 was = __sync_fetch_and_add(&fences[bpf_get_smp_processor_id() & CPU_MASK], 1);

	asm volatile("" : : "r"(was));
}

/* The task that each CPU runs which its shard's policy did not pick there, by the machine's number, or 0: one of another shard (host_task: is_visitor), or one
 * that the CPU rescues. The task may have ended or moved since: an entry stays until the CPU dispatches again. visitor_before has the one that the CPU ran before: the
 * kernel puts it back soon after the dispatch. */
static u32 visitor_on[MAX_CPUS], visitor_before[MAX_CPUS];
#endif

/* The machine's number of a kernel's CPU, or NO_CPU */
static __always_inline u32 machine_cpu(s32 cpu)
{
	return config.cpu[cpu & CPU_MASK];
}

#endif
