/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which CPUs of a shard a task may run on. Only with several shards. */
#ifndef DIVVY_HOST_SHARD_CPUS_H
#define DIVVY_HOST_SHARD_CPUS_H

#include "host/tasks.h"

#ifdef DIVVY_SHARDS
static __always_inline u64 all_cpus_of(u32 shard)
{
	u32 n = cpus_of(shard);

	return n >= 64 ? ~0ull : (1ull << n) - 1;
}

/* By their numbers in the shard */
static __always_inline u64 allowed_part(u32 id, u32 shard)
{
	const struct host_move *move = &host_task(id)->move;
	u32 first = shards.first[shard & SHARD_MASK] & CPU_MASK, word = first / 64, bit = first % 64;
	u64 part = move->cpus.word[word] >> bit;

	if (!move->is_bound)
		return all_cpus_of(shard);
	if (bit)
		part |= move->cpus.word[(word + 1) % CPU_WORDS] << (64 - bit);
	return part & all_cpus_of(shard);
}
#endif

#endif
