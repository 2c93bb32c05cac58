/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Shards (papers/placement.md). A shard is a machine of its own, with a lock of its own, for some CPUs with neighbouring numbers. The
 * host is compiled with one, and for policies that the loader permits once more with DIVVY_SHARDS, for several.
 *
 *   shard_of(id)       where a task is; changes only while the lock of the task's kernel run queue is held
 *   shard_of_cpu(cpu)  by the machine's number of a CPU
 *   machine_at(shard)  the machine
 *   lock_of(shard)     its lock, or NULL, which the verifier insists on
 *   local_cpu(cpu)     a CPU's number in its shard
 *
 * With one shard all of this is constant, and nothing is left of it.
 */
#ifndef DIVVY_HOST_SHARDS_H
#define DIVVY_HOST_SHARDS_H

#include "kernel.h"

#ifdef DIVVY_SHARDS

/* .rodata.shards: written before loading */
const volatile struct host_shards shards SEC(".rodata.shards") = { .n = 1 };

struct machine machines[MOST_SHARDS];

struct shard_lock {
	struct bpf_spin_lock lock;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_SHARDS);
	__type(key, u32);
	__type(value, struct shard_lock);
} locks SEC(".maps");

u8 shard_of_task[POOL];

static __always_inline u32 shard_of(u32 id)
{
	return shard_of_task[id & POOL_MASK] & SHARD_MASK;
}

static __always_inline u32 shard_of_cpu(u32 cpu)
{
	return shards.of_cpu[cpu & CPU_MASK] & SHARD_MASK;
}

static __always_inline struct machine *machine_at(u32 shard)
{
	return &machines[shard & SHARD_MASK];
}

static __always_inline struct bpf_spin_lock *lock_of(u32 shard)
{
	u32 key = shard;
	struct shard_lock *l = bpf_map_lookup_elem(&locks, &key);

	return l ? &l->lock : NULL;
}

static __always_inline u32 local_cpu(u32 cpu)
{
	return cpu - shards.first[shard_of_cpu(cpu)];
}

static __always_inline u32 global_cpu(u32 shard, u32 local)
{
	return local == NO_CPU ? NO_CPU : local + shards.first[shard & SHARD_MASK];
}

static __always_inline u32 cpus_of(u32 shard)
{
	return shards.cpus[shard & SHARD_MASK];
}

static __always_inline u32 number_of_shards(void)
{
	return shards.n;
}
#define MOST_SHARDS_HERE MOST_SHARDS

struct shard_stats shard_stats[MOST_SHARDS] SEC(".data.shards");
#define COUNTS_OF(shard) shard_stats[(shard) & SHARD_MASK]

/* Counts that several shards share */
#define count(what) __sync_fetch_and_add(&(what), 1)
#define count_down(what) __sync_fetch_and_sub(&(what), 1)

/* The sum of a field of all machines, as a hint */
#define OVER_SHARDS(field) \
	({ \
		u64 sum_ = 0; \
		for (u32 s_ = 0; s_ < MOST_SHARDS; s_++) \
			sum_ += machines[s_].field; \
		sum_; \
	})

#else

struct machine machine;

static __always_inline u32 shard_of(u32 id)
{
	return 0;
}

static __always_inline u32 shard_of_cpu(u32 cpu)
{
	return 0;
}

static __always_inline struct machine *machine_at(u32 shard)
{
	return &machine;
}

static __always_inline struct bpf_spin_lock *lock_of(u32 shard)
{
	return &lock;
}

static __always_inline u32 local_cpu(u32 cpu)
{
	return cpu;
}

static __always_inline u32 global_cpu(u32 shard, u32 local)
{
	return local;
}

static __always_inline u32 number_of_shards(void)
{
	return 1;
}
#define MOST_SHARDS_HERE 1

#define COUNTS_OF(shard) stats
#define count(what) (what)++
#define count_down(what) (what)--
#define OVER_SHARDS(field) machine.field

#endif

static __always_inline struct machine *machine_of(u32 id)
{
	return machine_at(shard_of(id));
}

/* The entry of a task in its machine */
static __always_inline struct task *task_in_machine(u32 id)
{
	return machine_task(machine_of(id), id);
}

#endif
