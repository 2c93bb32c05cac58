/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is left of a job's work, ns, for policies that are told how long tasks will run. */
#ifndef DIVVY_WORK_H
#define DIVVY_WORK_H

#include "../base.h"

#define WORK_MOST (1ull << 62) /* no job is longer: keys of a heap are less than 2^63 apart */

static inline void work_bring(u64 *left, u64 work)
{
	u64 room = WORK_MOST - *left;

	*left += work < room ? work : room;
}

static inline void work_charge(u64 *left, u64 ran)
{
	*left -= ran < *left ? ran : *left;
}

#endif
