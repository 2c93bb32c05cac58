/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine begins, or each shard's does. */
#ifndef DIVVY_HOST_MACHINES_H
#define DIVVY_HOST_MACHINES_H

#include "host/weighing.h"

#ifdef DIVVY_SHARDS
/* Not static: the verifier checks it by itself. */
NOINLINE int init_machine(u32 shard)
{
	struct bpf_spin_lock *lock = lock_of(shard);

	if (!lock)
		return 0;
	bpf_spin_lock(lock);
	config_init_for(machine_at(shard), &config.config, cpus_of(shard), POLICY_MODIFIERS);
	bpf_spin_unlock(lock);
	return 0;
}

static __always_inline void init_machines(void)
{
	FOR_EACH_SHARD(shard)
		init_machine(shard);
	init_reach_sets();
	if (!has_weigher())
		return;
	bpf_spin_lock(&lock);
	config_init(weigher(), &config.config);
	bpf_spin_unlock(&lock);
}
#else
static __always_inline void init_machines(void)
{
	bpf_spin_lock(&lock);
	config_init(&machine, &config.config);
	bpf_spin_unlock(&lock);
}
#endif

#endif
