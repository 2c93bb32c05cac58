/* SPDX-License-Identifier: GPL-2.0-only */
/* cfs: the kernel's times, from which slices follow (cfs R10). */
#ifndef DIVVY_CFS_TIMES_H
#define DIVVY_CFS_TIMES_H

#include "state.h"

static inline u64 cfs_time(const struct cfs *s, s64 own, u64 then, u64 modern)
{
	if (own)
		return own;
	return s->param.modern ? modern * s->modern_scale : then * s->scale;
}

static inline u64 cfs_latency(const struct cfs *s)
{
	return cfs_time(s, s->param.latency, 20 * MS, 6 * MS);
}

static inline u64 cfs_granularity(const struct cfs *s)
{
	return cfs_time(s, s->param.granularity, 4 * MS, 3 * MS / 4);
}

static inline u64 cfs_wakeup(const struct cfs *s)
{
	return cfs_time(s, s->param.wakeup, 10 * MS, MS);
}

/* period = max(latency, nr granularity), with nr = n/P tasks a CPU (cfs R3) */
static inline u64 cfs_period(const struct cfs *s, const struct cfs_queue *q)
{
	u64 latency = cfs_latency(s);
	u64 stretched = q->n * cfs_granularity(s) / s->cpus;

	return stretched > latency ? stretched : latency;
}

/* slice = period w / (W/P), at most the period, rounded down, at least 1 ns (cfs R4; Eq. 1) */
static inline u64 cfs_part(struct cfs *s, const struct cfs_queue *q, u64 w)
{
	u64 demand = w * s->cpus, period = cfs_period(s, q);
	u64 slice = demand < q->load ? wide_mul_div(&s->division, period, demand, q->load) : period;

	return slice ? slice : 1;
}

/* vslice = period / (W/P + w), of a new task, which is in W already (cfs R6) */
static inline u64 cfs_debit(struct cfs *s, const struct cfs_queue *q, u64 w)
{
	u64 others = q->load - w;

	return wide_mul_div(&s->division, cfs_period(s, q), WEIGHT_NICE_0 * s->cpus, others + w * s->cpus);
}

#endif
