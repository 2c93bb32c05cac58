/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Each CPU executes kernel code in a coroutine; the main loop resumes one at a time. */
#ifndef MODEL_COROUTINE_H
#define MODEL_COROUTINE_H

#include "model.h"

/* Begins `entry(argument)` on a CPU that executes nothing. */
void begin(struct cpu *cpu, void (*entry)(struct cpu *, void *), void *argument);
/* Goes on with a CPU until it switches or its entry ends. */
void resume(struct cpu *cpu);
/* Back to the main loop. */
void suspend(void);
/* Whether the CPU executes kernel code. */
bool is_busy(const struct cpu *cpu);
/* Whether it can go on: it neither stands still nor waits for a lock that is held. */
bool can_resume(const struct cpu *cpu);
/* The time until which it stands still, or an earlier one if it does not. */
u64 still_until(const struct cpu *cpu);

/* Whether the address is on the stack of the CPU's coroutine. */
bool is_on_stack(const struct cpu *cpu, const void *address);

#endif
