/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What happens when: a queue of events, each an interrupt on a CPU. */
#ifndef MODEL_EVENTS_H
#define MODEL_EVENTS_H

#include "model.h"

struct happening {
	u64 at_ns;
	u64 order; /* among those of one time */
	s32 cpu;   /* -1: where the handler says */
	void (*handle)(struct cpu *cpu, void *argument);
	void *argument;
	u64 generation; /* for the handler to see whether it is still wanted */
};

void at(u64 at_ns, s32 cpu, void (*handle)(struct cpu *, void *), void *argument, u64 generation);

/* The generation of the event that is being handled on this CPU. */
u64 generation_here(void);

/* Runs a function on a CPU at once, as a part of an interrupt there; no CPU may execute kernel code. */
void run_on(struct cpu *cpu, void (*function)(struct cpu *, void *), void *argument);

/* Runs events that come before a time, until it is enough, or the kernel throws the scheduler out. `is_enough` is asked whenever no CPU
 * executes kernel code. Returns whether it was. */
bool run_before(u64 before_ns, bool (*is_enough)(void));

/* Runs events until a time, or until the kernel throws the scheduler out. */
void run_until(u64 end_ns);

#endif
