/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A CPU dispatches some tasks without asking the policy: kernel threads, tasks without an id, and tasks that starve. In turn with the
 * policy before it is asked, and anything there is if the policy has nothing.
 *
 * The functions are not static on purpose: the verifier checks each once, by itself. They call the kernel, so the lock is not
 * held.
 */
#ifndef DIVVY_HOST_AROUND_POLICY_H
#define DIVVY_HOST_AROUND_POLICY_H

#include "host/fallback.h"
#include "host/kernel_threads.h"
#include "host/starvation.h"

/* A hint, that saves the call in the common case. */
static __always_inline bool has_others(const struct host_cpu *c)
{
	return c->has_kernel_thread || c->to_rescue || stats.fallbacks;
}

/* Returns whether the CPU has a task now. */
NOINLINE bool dispatch_other(s32 kernel_cpu, u32 cpu)
{
	if (dispatch_kernel_thread(kernel_cpu, cpu, true) || dispatch_fallback(cpu) ||
	    dispatch_starved(kernel_cpu, cpu)) {
		take_cpu(cpu);
		return true;
	}
	return false;
}

/* The policy has nothing. */
NOINLINE bool dispatch_rest(s32 kernel_cpu, u32 cpu)
{
	if (dispatch_kernel_thread(kernel_cpu, cpu, false) || consume_fallback(cpu)) {
		take_cpu(cpu);
		return true;
	}
	return false;
}

#endif
