/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine with one policy as BPF programs for an ordinary kernel, without sched_ext: a program for each event of
 * the machine, and one lock around each event, as in the host. check.c loads and runs them. Compiled once for each
 * policy, with DIVVY_POLICY its name and POLICY_HEADER its header.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include POLICY_HEADER

/* Written by the loader. The verifier knows the value, and removes the code of modifiers that are not loaded. */
const volatile unsigned int modifiers_loaded SEC(".rodata.modifiers") = ~0u;
#define MODIFIERS_LOADED modifiers_loaded
#include "machine.h"
#include "event.h"

/* In a section of its own, because policies have tables in .rodata. */
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

char _license[] SEC("license") = POLICY_LICENSE;
