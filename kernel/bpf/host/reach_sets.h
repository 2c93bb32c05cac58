/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The sets of shards on which tasks may run, each with a number: reachable.h has a list of tasks for each. A set is that of the shards where a task may
 * run on every CPU. There is room for 254. A task whose set finds no room counts as one that may run on a part of each shard's CPUs, which a search
 * finds.
 *
 * Sets are given numbers under the lock of ids, and lose them when no task has them. Others read them without that lock. This is right because a task that
 * waits in the list of a set is counted in it: it leaves the set only after it was moved to another list, under its shard's lock.
 */
#ifndef DIVVY_HOST_REACH_SETS_H
#define DIVVY_HOST_REACH_SETS_H

#include "host/shard_cpus.h"

#ifdef DIVVY_SHARDS

#define REACHES 256u
/* The number of none, and of all. These two are never given out. */
#define NOWHERE 0
#define EVERYWHERE 1

static struct reach_set {
	u64 shards; /* a bit for each */
	u32 tasks;
} reach_sets[REACHES];

/* For each shard, the sets that contain it, a bit for each */
static u64 sets_with[MOST_SHARDS][REACHES / 64];

static __always_inline u64 all_shards(void)
{
	return shards.n >= 64 ? ~0ull : (1ull << shards.n) - 1;
}

/* Under the lock of ids: the number of the set if a task has it, else of a free one, else 0; and where the search is. Both are in memory, where the verifier
 * does not know their values: so it follows the loop for a few rounds only. */
static volatile u32 found_set, set_at;

static NOINLINE void find_reach_set(u64 wanted)
{
	found_set = 0;
	for (set_at = EVERYWHERE + 1; set_at < REACHES && can_loop; set_at++) {
		const struct reach_set *set = &reach_sets[set_at % REACHES];

		if (set->tasks && set->shards == wanted) {
			found_set = set_at;
			return;
		}
		if (!set->tasks && !found_set)
			found_set = set_at;
	}
}

/* Each shard is in the set, or is not, by its bits. */
static NOINLINE void note_reach_set(u32 number, u64 wanted)
{
	u64 bit = 1ull << number % 64;

	FOR_EACH_SHARD(shard) {
		u64 *sets = &sets_with[shard & SHARD_MASK][number / 64 % (REACHES / 64)];

		*sets = wanted >> (shard & 63) & 1 ? *sets | bit : *sets & ~bit;
	}
}

/* Before any task comes */
static __always_inline void init_reach_sets(void)
{
	note_reach_set(EVERYWHERE, all_shards());
}

/* The shards all of whose CPUs are in the mask */
static NOINLINE u64 whole_shards(const struct allowed *cpus)
{
	u64 whole = 0;

	FOR_EACH_SHARD(shard)
		if (part_of(cpus, shard) == all_cpus_of(shard))
			whole |= 1ull << (shard & 63);
	return whole;
}

/* Whether the mask has some of the CPUs of a shard, and not all */
static NOINLINE bool is_partly_in(const struct allowed *cpus, u64 whole)
{
	FOR_EACH_SHARD(shard)
		if (!(whole >> (shard & 63) & 1) && part_of(cpus, shard))
			return true;
	return false;
}

/* The task is about to have other CPUs: its next set, and the one that it leaves, if these are two. The sets of a task are changed by the holder of its run
 * queue's lock. Not static: the verifier checks these two by themselves. */
NOINLINE int take_reach_set(u32 id, const struct allowed *cpus)
{
	struct host_move *move = &host_task(id)->move;
	u64 whole;
	u32 number;

	if (!cpus)
		return 0;
	whole = whole_shards(cpus);
	move->next_reaches_a_part = is_partly_in(cpus, whole);
	move->left_reach = move->reach;
	if (!whole || whole == all_shards()) {
		move->next_reach = whole ? EVERYWHERE : NOWHERE;
		return 0;
	}
	/* It is counted there, so the set cannot change. */
	if (move->reach > EVERYWHERE && reach_sets[move->reach % REACHES].shards == whole) {
		move->next_reach = move->reach;
		move->left_reach = NOWHERE;
		return 0;
	}
	bpf_spin_lock(&lock);
	find_reach_set(whole);
	number = found_set % REACHES;
	if (number && !reach_sets[number].tasks++) {
		reach_sets[number].shards = whole;
		note_reach_set(number, whole);
	}
	bpf_spin_unlock(&lock);
	move->next_reach = number;
	if (!number)
		move->next_reaches_a_part = true;
	return 0;
}

/* Under its shard's lock: it may run on these CPUs. */
static NOINLINE void bind(u32 id, const struct allowed *cpus)
{
	struct host_move *move = &host_task(id)->move;

	move->cpus = *cpus;
	move->is_bound = true;
	move->reach = move->next_reach;
	move->reaches_a_part = move->next_reaches_a_part;
}

/* The task has left its set: it waits in no list of it any more. */
NOINLINE int leave_reach_set(u32 id)
{
	u32 number = host_task(id)->move.left_reach % REACHES;

	if (number <= EVERYWHERE)
		return 0;
	bpf_spin_lock(&lock);
	reach_sets[number].tasks--;
	bpf_spin_unlock(&lock);
	return 0;
}

#endif

#endif
