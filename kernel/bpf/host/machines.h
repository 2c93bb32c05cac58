/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine begins, or each shard's does. */
#ifndef DIVVY_HOST_MACHINES_H
#define DIVVY_HOST_MACHINES_H

#include "host/weighing.h"

#ifdef DIVVY_SHARDS
static __always_inline void init_machines(void)
{
	for (u32 shard = 0; shard < MOST_SHARDS; shard++) {
		struct bpf_spin_lock *lock = shard < shards.n ? lock_of(shard) : NULL;

		if (!lock)
			continue;
		bpf_spin_lock(lock);
		config_init_for(machine_at(shard), &config.config, cpus_of(shard), POLICY_MODIFIERS);
		bpf_spin_unlock(lock);
	}
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
