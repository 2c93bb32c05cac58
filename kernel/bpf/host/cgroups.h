/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The ops of cgroups: each cgroup is a group of the machine, in the group of its parent. They do nothing unless the
 * loader asked for groups by cgroup. The kernel calls them one at a time; none is called with the lock held.
 */
#ifndef DIVVY_HOST_CGROUPS_H
#define DIVVY_HOST_CGROUPS_H

#include "host/bandwidth.h"
#include "host/groups.h"
#include "host/tasks.h"

/* The group of the nearest cgroup that has one, from this one up. Deeper ones than GROUP_LEVELS have none. Unrolled, because in a loop
 * Linux 6.12's verifier follows each level that there could be. */
static NOINLINE u32 group_of_cgroup(struct cgroup *cgroup)
{
	u32 deepest = cgroup->level, group;

#pragma unroll
	for (u32 level = GROUP_LEVELS; level; level--) {
		group = level <= deepest ? group_of(cgroup_at(cgroup, level)) : ROOT;
		if (group)
			return group;
	}
	return ROOT;
}

/* cpu.weight: 100 is nice 0. */
static __always_inline u64 cgroup_weight(u32 weight)
{
	return weight * WEIGHT_NICE_0 / 100;
}

/* When the scheduler is loaded, the kernel calls this for all cgroups, outer ones first. */
SEC("struct_ops/cgroup_init")
s32 BPF_PROG(host_cgroup_init, struct cgroup *cgroup, struct scx_cgroup_init_args *args)
{
	struct cgroup_subsys_state *parent = cgroup->self.parent;
	u32 around, group;

	if (!config.cgroups || !parent || cgroup->level > GROUP_LEVELS)
		return 0;
	around = group_of_cgroup(parent->cgroup);
	group = make_group(cgroup->kn->id, around, cgroup_weight(args->weight), around);
	if (group != around)
		follow_limit(group, cgroup);
	return 0;
}

SEC("struct_ops/cgroup_set_weight")
void BPF_PROG(host_cgroup_set_weight, struct cgroup *cgroup, u32 weight)
{
	if (config.cgroups)
		weigh_group(cgroup->kn->id, cgroup_weight(weight));
}

/* Later kernels tell; what it is, they have written before. */
SEC("struct_ops/cgroup_set_bandwidth")
void BPF_PROG(host_cgroup_set_bandwidth, struct cgroup *cgroup, u64 period_us, u64 quota_us, u64 burst_us)
{
	u32 group = config.cgroups ? group_of(cgroup->kn->id) : ROOT;

	if (group)
		follow_limit(group, cgroup);
}

SEC("struct_ops/cgroup_move")
void BPF_PROG(host_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	u32 group;

	if (!config.cgroups || p->flags & PF_KTHREAD)
		return;
	group = group_of_cgroup(to);
	/* It may have got its limit just before its first task. */
	if (group && to->level <= GROUP_LEVELS)
		follow_limit(group, to);
	if (living_id(p)) {
		enter_group(id_of(p), group);
		/* Its slice was not taken from there. */
		if (has_limits() && is_limited(id_of(p)))
			set_slice(p, 1);
	} else if (!id_of(p)) {
		set_dsq_vtime(p, (p->scx.dsq_vtime & NO_ID_EVER) | (u64)group << NO_ID_GROUP);
	}
}

/* The cgroup has no more tasks, except perhaps dead ones, which are not runnable. */
SEC("struct_ops/cgroup_exit")
void BPF_PROG(host_cgroup_exit, struct cgroup *cgroup)
{
	u64 key = cgroup->kn->id;
	u32 group = config.cgroups ? group_of(key) : ROOT;

	if (!group || bpf_map_delete_elem(&groups, &key))
		return;
	bpf_spin_lock(&lock);
	free_group(group);
	bpf_spin_unlock(&lock);
}

#endif
