/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A CPU: clocks, interrupts, and schedule(). Functions run in the CPU's coroutine, except for `start_cpus`. */
#ifndef MODEL_CPU_H
#define MODEL_CPU_H

#include "model.h"

/* Sets the number of CPUs up, with ticks; the last one is online in any case. */
void start_cpus(u32 ncpus, u64 tick_ns, u64 offline);
/* Asks a CPU to schedule, soon. */
void resched(struct cpu *cpu);
/* The way out of an interrupt or a system call: deferred kicks, and schedule() if it is asked. */
void leave_interrupt(struct cpu *cpu);
/* The class of the task on a CPU; CLASS_RT while a real-time task runs. */
enum class class_on(const struct cpu *cpu);

#endif
