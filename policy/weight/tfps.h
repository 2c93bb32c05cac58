/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tfps: preference for programs that use the CPUs. A program's share grows with its threads, up to the number of
 * CPUs, and no further: of programs with 1, 4 and 16 threads on 4 CPUs the shares are 1:4:4.
 *
 * Wong, Tan, Kumari, Wey: "Towards achieving fairness in the Linux scheduler" (2008), section 5.4, Figure 10: the Thread
 * Fair Preferential Scheduler, which they leave as future work: papers/tfps.md.
 */
#ifndef DIVVY_TFPS_H
#define DIVVY_TFPS_H

#include "../policy.h"

#define TFPS_PARAMS(P) \
	P(all, SWITCH, "", 0, 0, 1, "count all threads of a process; else only the runnable ones") \
	P(group, SWITCH, "", 0, 0, 1, \
	  "by groups (users, cgroups) instead: count the threads of a task's group, if it is in one")

#define TFPS_TITLE "a program's share grows with its threads, up to the number of CPUs"

struct tfps {
	PARAMS(TFPS_PARAMS);
};

/* weight = weight(nice) min(alpha, P) / alpha, rounded down, at least 1 (tfps R1, R2). P is at most MAX_CPUS, so the
 * product is below 2^53. */
static inline u64 tfps_weight(u64 nominal, u32 alpha, u32 p)
{
	u64 w = alpha > p ? nominal * p / alpha : nominal;

	return w < WEIGHT_MIN ? WEIGHT_MIN : w;
}

#endif
