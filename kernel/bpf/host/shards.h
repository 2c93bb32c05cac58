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

/* 0, which the verifier does not know: then it follows a loop for a few rounds, and not for as many as there are. */
volatile u32 unknown_zero;

#ifdef DIVVY_SHARDS

/* .rodata.shards: written before loading */
const volatile struct host_shards shards SEC(".rodata.shards") = { .n = 1 };

/* A section of its own: the loader makes it as small as shards.mask permits. The verifier does not know that a shard's machine has no modifiers, and looks
 * for what they would have behind its end: so a few are spare. */
#define SPARE_MACHINES 4u
struct {
	u8 machine[MACHINE_BYTES_WITHOUT_MODIFIERS];
} __attribute__((aligned(64))) machines[MOST_SHARDS + SPARE_MACHINES] SEC(".bss.machines");

#ifdef __BPF__
_Static_assert(sizeof(struct machine) <= (1 + SPARE_MACHINES) * sizeof(machines[0]), "there it ends in the section");
#endif

#define FOR_EACH_SHARD(shard) for (u32 shard = unknown_zero; shard < shards.n && can_loop; shard++)

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

/* The compiler is not to know the range of these two, or it would leave out the masks where they are used, which the verifier asks for. */
static __always_inline u32 shard_of(u32 id)
{
	return any_number(shard_of_task[id & POOL_MASK]);
}

static __always_inline u32 shard_of_cpu(u32 cpu)
{
	return any_number(shards.of_cpu[cpu & CPU_MASK]);
}

static __always_inline struct machine *machine_at(u32 shard)
{
	return (struct machine *)machines[shard & shards.mask].machine;
}

static __always_inline struct bpf_spin_lock *lock_of(u32 shard)
{
	u32 key = shard;
	struct shard_lock *l = bpf_map_lookup_elem(&locks, &key);

	return l ? &l->lock : NULL;
}

static __always_inline u32 local_cpu(u32 cpu)
{
	return cpu - shards.first[shard_of_cpu(cpu) & SHARD_MASK];
}

static __always_inline u32 global_cpu(u32 shard, u32 local)
{
	return local == NO_CPU ? NO_CPU : local + shards.first[shard & SHARD_MASK];
}

static __always_inline u32 cpus_of(u32 shard)
{
	return shards.cpus[shard & SHARD_MASK];
}

struct shard_stats shard_stats[MOST_SHARDS] SEC(".data.shards");
#define COUNTS_OF(shard) shard_stats[(shard) & SHARD_MASK]

/* Counts that several shards share */
#define count(what) __sync_fetch_and_add(&(what), 1)

/* The sum of a field of all machines, as a hint */
#define OVER_SHARDS(field) \
	({ \
		u64 sum_ = 0; \
		FOR_EACH_SHARD(s_) \
			sum_ += machine_at(s_)->field; \
		sum_; \
	})

#else

struct machine machine;

#define FOR_EACH_SHARD(shard) for (u32 shard = 0; shard < 1; shard++)

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

#define COUNTS_OF(shard) stats
#define count(what) (what)++
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
