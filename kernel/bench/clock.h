/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <time.h>

static inline long long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline long long now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of this process. */
static inline long long used_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
