/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine and one policy as BPF programs for an ordinary kernel: a program for each event of the machine,
 * everything under one lock, as in a sched_ext host. check.c loads and runs them. Compiled once a policy, with
 * DIVVY_POLICY its name and POLICY_HEADER its header.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include POLICY_HEADER

/* Known to the verifier, which leaves out the code of other modifiers. The loader writes it. */
const volatile unsigned int modifiers_loaded SEC(".rodata.modifiers") = ~0u;
#define MODIFIERS_LOADED modifiers_loaded
#include "machine.h"
#include "event.h"

/* A section of its own: policies have tables in .rodata. */
const volatile struct config config SEC(".rodata.config") = { 0 };

struct machine machine;
struct bpf_spin_lock lock SEC(".data.lock") __attribute__((visibility("hidden")));

SEC("syscall") int check_init(void *ctx)
{
	bpf_spin_lock(&lock);
	config_init(&machine, &config);
	bpf_spin_unlock(&lock);
	return 0;
}

#define PROGRAM(name) \
	SEC("syscall") int check_##name(struct event *ctx) \
	{ \
		struct event e = *ctx; \
\
		bpf_spin_lock(&lock); \
		event_tell(&machine, EVENT_##name, &e); \
		bpf_spin_unlock(&lock); \
		ctx->id = e.id; \
		ctx->cpu = e.cpu; \
		ctx->slice = e.slice; \
		return 0; \
	}

EVENTS(PROGRAM)

char _license[] SEC("license") = "Dual MIT/GPL";
