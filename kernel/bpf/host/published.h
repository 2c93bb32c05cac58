/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Each shard publishes (placement R2), to be read without its lock: its virtual time, and the weight of its tasks. The holder of the lock writes it. So
 * it is as old as the time from a change to the end of the critical section in which it happens.
 *
 * The selection decides what the virtual time is, and which task a CPU takes from another shard. by_tag.h is for one whose tags two
 * machines can compare (policy/placement/NAME.h), by_service.h for all others. Each of the two has:
 *
 *   note_load(shard, id)          under the lock: the machine was told of the task
 *   publish(shard)                under the lock, after a change
 *   publish_dispatch(shard, id)   the same after a dispatch, which chose this task or none (0)
 *
 *   take_lag_along(m, id)         under the lock: the task is about to leave the machine
 *   look_before_joining(x, here)  no lock is held: a task is about to become runnable
 *   tag_to_join(shard, id, x, how)  under the lock, before it is
 *   carried_tag(m, id, own, v, how)  under the lock, when it is: by how much its tags are to be later, or 0
 *   moves_at_once()               whether a task that a CPU took moves as soon as it runs there, and not at the end of its visit
 *
 *   find_behind(x, here, cpu, ran_id, now)  no lock is held: whether a task of another shard comes first on a CPU, and of which
 *   find_takeable(x, from, here, cpu)       under the lock: the task that the CPU takes, into chosen
 */
#ifndef DIVVY_HOST_PUBLISHED_H
#define DIVVY_HOST_PUBLISHED_H

#include "host/reachable.h"
#include "host/state.h"
#include "host/tasks.h"

#ifdef DIVVY_SHARDS

/* A line of the cache has all that other CPUs read. */
struct published {
	/* by_tag.h: the least tag of those that wait or run here, or of the last one. by_service.h: normalised service, ns of a nice-0 task */
	u64 v;
	u64 part;    /* by_service.h: of v, in 2^-20 ns */
	u64 counted; /* by_service.h: the time until which v is counted */
	u64 least;   /* by_tag.h: tag of a task that waits */
	u64 weight;  /* of all runnable tasks */
	u64 first;   /* by_service.h: the weight of the task that has waited for longest */
	u32 runnable;
	u32 serving;  /* by_service.h: tasks on a CPU */
	bool waiting; /* by_tag.h: whether there is a task that waits, */
	bool has_v;   /* and one that waits or runs */
	u32 runs;     /* by_tag.h: the task with the least tag of those that run; 0: none runs */
	u64 running;  /* its tag */
} __attribute__((aligned(64)));

struct published published[MOST_SHARDS];

static __always_inline struct published *published_of(u32 shard)
{
	return &published[shard & SHARD_MASK];
}

/* How a task comes to a shard. */
#define HAS_MOVED 1
#define IS_WOKEN 2
/* It is on a CPU of the shard, which puts it in custody when its visit ends: taking.h. */
#define RUNS_HERE 4
/* It was held because of a limit, unless the kernel has taken it back meanwhile: holding_in_shards.h. */
#define IS_HELD 8
/* A timer brings it: BY_RELEASE and BY_RESCUE, in survey.h. */

/* The runnable task that each CPU moves, by the kernel's number, or 0: it is between two shards, and in no machine. */
static u32 moving_on[MAX_CPUS];

static __always_inline u32 *moving_here(void)
{
	return &moving_on[bpf_get_smp_processor_id() & CPU_MASK];
}

/* The CPU moves this task from now on, or none (0). Others see all that it wrote before, and nothing that it writes next: the exchange is a barrier. */
static __always_inline void set_moving(u32 *moving, u32 id)
{
	u32 was = __sync_lock_test_and_set(moving, id);

	asm volatile("" : : "r"(was));
}

/* Tags, and virtual times of shards */
static __always_inline bool precedes(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static __always_inline u64 later_of(u64 a, u64 b)
{
	return precedes(a, b) ? b : a;
}

/* Quanta in which all CPUs serve, as virtual time (placement: K) */
static __always_inline u64 skew(u64 weight)
{
	u64 ns = shards.skew_quanta * config.config.quantum * config.config.ncpus;

	return weight ? ns * (WEIGHT_NICE_0 >> 10) / ((weight >> 10) ?: 1) : 0;
}

/* The weights of all shards */
static __always_inline u64 published_weight(void)
{
	u64 weight = 0;

	FOR_EACH_SHARD(shard)
		weight += published_of(shard)->weight;
	return weight;
}

static __always_inline bool is_takeable(struct machine *m, u32 id, u32 cpu)
{
	return id && (machine_task(m, id)->state & (RUNNABLE | CUSTODY)) == (RUNNABLE | CUSTODY) && may_run(id, cpu);
}

/* Tasks that a search looks at which may find none */
#define MOST_LOOKED_AT 64

/* The first of those that may run on a part of a shard's CPUs, and on this one, into chosen */
static NOINLINE void find_partly(struct machine *m, struct survey *x, u32 from, u32 cpu)
{
	u32 first = reachable[from & SHARD_MASK].partly, id = first;

	for (x->at = 0; x->at < 4 * MOST_LOOKED_AT && id && can_loop; x->at++) {
		if (is_takeable(m, id, cpu)) {
			x->chosen = id;
			return;
		}
		id = ring_next(&partly_links, id);
		id = id == first ? 0 : id;
	}
}

/* One that waits in a shard and may run on a CPU of another one, whatever comes before it, into chosen */
static __always_inline void find_any(struct machine *m, struct survey *x, u32 from, u32 here, u32 cpu)
{
	x->chosen = find_reachable(from, here);
	if (!x->chosen && reachable[from & SHARD_MASK].partly)
		find_partly(m, x, from, cpu);
}

#ifdef PLACEMENT_HEADER
#include "host/by_tag.h"
#else
#include "host/by_service.h"
#endif

#else
static __always_inline void publish(u32 shard)
{
}

static __always_inline void note_load(u32 shard, u32 id)
{
}
#endif

#endif
