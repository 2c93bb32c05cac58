/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Loops over CPUs. As every loop, in a function of its own that is NOINLINE. */
#ifndef DIVVY_CPUS_H
#define DIVVY_CPUS_H

#include "../policy.h"

/* `cpu` counts up from `from`, which the verifier must not know, to below `end`. */
#define for_cpus(cpu, from, end) for (u32 cpu = (from); cpu < (end) && can_loop; cpu++)

#define for_each_cpu(cpu, s) for_cpus(cpu, (s)->tasks.zero, (s)->tasks.ncpus)

/* The task that has its slice on a CPU, or 0 */
static inline u32 picked_on(const struct task_table *t, u32 cpu)
{
	return t->picked[cpu & CPU_MASK];
}

#endif
