/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which CPUs a task may run on, and which of a shard. */
#ifndef DIVVY_HOST_SHARD_CPUS_H
#define DIVVY_HOST_SHARD_CPUS_H

#include "host/tasks.h"

#ifdef DIVVY_SHARDS
static __always_inline u64 all_cpus_of(u32 shard)
{
	u32 n = cpus_of(shard);

	return n >= 64 ? ~0ull : (1ull << n) - 1;
}

/* Those of a mask, by their numbers in the shard */
static __always_inline u64 part_of(const struct allowed *cpus, u32 shard)
{
	u32 first = shards.first[shard & SHARD_MASK] & CPU_MASK, word = first / 64, bit = first % 64;
	u64 part = cpus->word[word] >> bit;

	if (bit)
		part |= cpus->word[(word + 1) % CPU_WORDS] << (64 - bit);
	return part & all_cpus_of(shard);
}

static __always_inline u64 allowed_part(u32 id, u32 shard)
{
	const struct host_move *move = &host_task(id)->move;

	return move->is_bound ? part_of(&move->cpus, shard) : all_cpus_of(shard);
}
#endif

/* Whether the task may run on a CPU, of whatever shard */
static __always_inline bool may_run(u32 id, u32 cpu)
{
#ifdef DIVVY_SHARDS
	const struct host_move *move = &host_task(id)->move;

	return !move->is_bound || move->cpus.word[(cpu & CPU_MASK) / 64] >> (cpu % 64) & 1;
#else
	return machine_may_run(&machine, id, cpu);
#endif
}

#endif
