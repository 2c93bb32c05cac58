/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The limits of CPU time that cgroups have (cpu.max), from the kernel's own structs. They are read when the scheduler is told of a
 * cgroup, when a task enters one, and by command_limits, which the loader runs each second; later kernels tell when one changes.
 */
#ifndef DIVVY_HOST_BANDWIDTH_H
#define DIVVY_HOST_BANDWIDTH_H

#include "host/groups.h"
#include "host/quotas.h"
#include "host/slices.h"

/* Longer than any that matters, so that sums fit */
#define LONGEST_QUOTA_NS (1ull << 40)

/* The limit of a group: no quota is no limit. Takes the lock. `key` is its cgroup's, as another may have the number by now. Not
 * static: the verifier checks it by itself. */
NOINLINE int set_limit(u32 group, u64 key, u64 quota, u64 period, u64 burst)
{
	struct limit *g = &limits.group[group & GROUP_MASK];
	u64 now = clock_ns();

	if (g->quota == quota && (!quota || (g->period == period && g->burst == burst)))
		return 0;
	bpf_spin_lock(&lock);
	if (keys[group & GROUP_MASK] == key)
		limits_set(&limits, group, quota, period, burst, machine_now(weigher(), now));
	bpf_spin_unlock(&lock);
	return 0;
}

/* Follows the limit of the group's cgroup. The lock is not held. */
static __always_inline void follow_limit(u32 group, struct cgroup *cgroup)
{
	struct cgroup_subsys_state **controllers = cgroup->subsys, *css;
	struct cfs_bandwidth *b;
	u64 quota = 0, period = 0, burst = 0;

	if (!config.limits || !bpf_core_type_exists(struct cfs_bandwidth))
		return;
	bpf_probe_read_kernel(&css, sizeof(css), controllers + CPU_CONTROLLER);
	if (!css)
		return;
	b = &((struct task_group *)((char *)css - bpf_core_field_offset(struct task_group, css)))->cfs_bandwidth;
	bpf_probe_read_kernel(&quota, sizeof(quota), &b->quota);
	bpf_probe_read_kernel(&period, sizeof(period), &b->period);
	bpf_probe_read_kernel(&burst, sizeof(burst), &b->burst);
	if (quota == NO_QUOTA || !period)
		quota = 0;
	set_limit(group, cgroup->kn->id, shorter(quota, LONGEST_QUOTA_NS), shorter(period, LONGEST_QUOTA_NS),
		  shorter(burst, LONGEST_QUOTA_NS));
}

/* The same, by its number. Not static: the verifier checks it by itself. */
NOINLINE int follow_limit_of(u32 group)
{
	u64 key = keys[group & GROUP_MASK];
	struct cgroup *cgroup = key ? bpf_cgroup_from_id(key) : NULL;

	if (!cgroup)
		return 0;
	follow_limit(group, cgroup);
	bpf_cgroup_release(cgroup);
	return 0;
}

static u32 limit_at;

/* Follows the limits of all cgroups. */
SEC("syscall")
int command_limits(struct host_command *c)
{
	if (!config.limits)
		return 0;
	for (limit_at = 1; limit_at <= last_group && can_loop; limit_at++)
		follow_limit_of(limit_at);
	return 0;
}

#endif
