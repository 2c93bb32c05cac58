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
#include "../lib/ring.h"

#define PROCFAIR_PARAMS(P) \
	P(all, SWITCH, "", 0, 0, 1, "count all threads of a process (Eq. 6); else only the runnable ones (Eq. 7)")

#define PROCFAIR_ABOUT(A) \
	A(TITLE, "fairness among programs: weight divided by the process's threads") \
	A(PAPER, "Wong, Tan, Kumari, Wey: Towards achieving fairness in the Linux scheduler, OSR 42(5), 2008") \
	A(GUARANTEE, "programs of equal weight get equal service, however many threads they run, as far as each can use it") \
	A(COST, "O(threads of the process) when one of its threads blocks or wakes") \
	A(DEVIATION, "D1: weights follow every change of the runnable set at once, not at the next load balancing")

struct procfair {
	PARAMS(PROCFAIR_PARAMS)
	struct links threads; /* counted threads, a list a process */
	u32 first[POOL];      /* of each process: its first counted thread */
	u32 alpha[POOL];      /* of each process: number of counted threads */
};

static inline void procfair_add(struct procfair *s, u32 process, u32 id)
{
	ring_push_back(&s->threads, &s->first[process & POOL_MASK], id);
	s->alpha[process & POOL_MASK]++;
}

static inline void procfair_drop(struct procfair *s, u32 process, u32 id)
{
	ring_remove(&s->threads, &s->first[process & POOL_MASK], id);
	s->alpha[process & POOL_MASK]--;
}

/* weight = weight(nice) / alpha, rounded down, at least 1 (procfair R1; Eq. 6, with R2 Eq. 7) */
static inline u64 procfair_weight(const struct procfair *s, u32 process, u64 nominal)
{
	u32 alpha = s->alpha[process & POOL_MASK];
	u64 w = alpha > 1 ? nominal / alpha : nominal;

	return w < WEIGHT_MIN ? WEIGHT_MIN : w;
}

#endif
