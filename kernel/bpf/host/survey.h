/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a CPU finds when it looks at other shards: scratch of the searches, in memory. Only with several shards. */
#ifndef DIVVY_HOST_SURVEY_H
#define DIVVY_HOST_SURVEY_H

#include "host/state.h"

#ifdef DIVVY_SHARDS
/* Two of the ways in which a task comes to a shard (published.h): a timer brings it. */
#define BY_RELEASE 16
#define BY_RESCUE 32

struct survey {
	u64 v;      /* the least tag of a runnable task, or virtual time of a shard with one */
	u64 latest; /* by_service.h: with which a shard may begin to have tasks. by_tag.h: the latest v of a shard */
	u64 least;  /* of those that wait elsewhere: a tag, or the virtual time of their shard */
	u64 before; /* a task is taken if that is less, */
	u64 weight; /* of all */
	u64 now;
	u32 from; /* where that waits */
	bool has_v;
	bool is_found;
	bool any; /* or in any case */
	u32 at;
	u32 idle;        /* the best shard with an idle CPU for a task, or MOST_SHARDS */
	u32 best;        /* the best of all */
	u32 how;         /* in which way a task comes to a shard: published.h */
	bool is_carried; /* its tags become later there */
	u32 chosen;      /* a task to take, or 0 */
	u32 used;        /* the group because of which a task is held, or 0: handing_over.h */
	u64 chosen_tag;
} __attribute__((aligned(64)));

/* Each CPU has one for its ops, and one for each of two timers, which an op may interrupt. */
static struct survey surveys[4 * MAX_CPUS];

/* That of a timer (BY_RELEASE, BY_RESCUE) on this CPU, or without such a bit that of ops. Without a branch: the verifier would look at all that
 * follows more than once. */
static __always_inline struct survey *survey_of(u32 by)
{
	return &surveys[(bpf_get_smp_processor_id() & CPU_MASK) | (by / BY_RELEASE % 4 * MAX_CPUS)];
}

/* That of this CPU, whose interrupts are off */
static __always_inline struct survey *survey_here(void)
{
	return survey_of(0);
}
#endif

#endif
