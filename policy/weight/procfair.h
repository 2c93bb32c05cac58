/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * procfair: fairness among programs. A thread's weight is its own divided by the number of threads of
 * its process, so a program gains nothing by starting more of them.
 *
 * Wong, Tan, Kumari, Wey: "Towards achieving fairness in the Linux scheduler" (2008): papers/procfair.md.
 * Not taken: dividing at load balancing only, which is where their kernel could afford it (procfair D1).
 */
#ifndef DIVVY_PROCFAIR_H
#define DIVVY_PROCFAIR_H

#include "../policy.h"

#define PROCFAIR_PARAMS(P) \
	P(all, SWITCH, "", 0, 0, 1, "count all threads of a process (Eq. 6); else only the runnable ones (Eq. 7)") \
	P(group, SWITCH, "", 0, 0, 1, \
	  "among groups (users, cgroups) instead: count the threads of a task's group, if it is in one")

#define PROCFAIR_TITLE "fairness among programs: weight divided by the process's threads"

struct procfair {
	PARAMS(PROCFAIR_PARAMS);
};

/* weight = weight(nice) / alpha, rounded down, at least 1 (procfair R1; Eq. 6, with R2 Eq. 7) */
static inline u64 procfair_weight(u64 nominal, u32 alpha)
{
	u64 w = alpha > 1 ? nominal / alpha : nominal;

	return w < WEIGHT_MIN ? WEIGHT_MIN : w;
}

#endif
