/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The host's own state that all parts share: the configuration, the counters, the machine and its lock, and the
 * numbers of CPUs and dispatch queues (DSQs).
 */
#ifndef DIVVY_HOST_STATE_H
#define DIVVY_HOST_STATE_H

#include "kernel.h"
#define MACHINE_ENTITLED
#include POLICY_HEADER

/* Known to the verifier, which leaves out the code of other modifiers. The loader writes it. */
const volatile unsigned int modifiers_loaded SEC(".rodata.modifiers") = ~0u;
#define MODIFIERS_LOADED modifiers_loaded
#include "host.h"

/* Sections of their own: the loader maps them. */
const volatile struct host_config config SEC(".rodata.config") = { .sample = 0 };
struct host_stats stats SEC(".data.stats");
struct account accounts[POOL] SEC(".data.tasks");
struct host_exit exit_info SEC(".data.exit");

struct machine machine;
struct bpf_spin_lock lock SEC(".data.lock") __attribute__((visibility("hidden")));

/* DSQs: one for tasks without an id, and one a CPU, by the kernel's number */
#define FALLBACK 1
#define DSQ_OF_CPU 1024

static __always_inline u32 machine_cpu(s32 cpu)
{
	return config.cpu[cpu & CPU_MASK];
}

#endif
