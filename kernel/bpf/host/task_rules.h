/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The rule of a task: that of its executable, or else that of its nearest cgroup, or else that of its user. See rules.h. */
#ifndef DIVVY_HOST_TASK_RULES_H
#define DIVVY_HOST_TASK_RULES_H

#include "host/attributes.h"
#include "host/groups.h"

/* Cgroups below have no rule. */
#define RULE_LEVELS 12

/* Whether the machine has this cgroup as a group, which has the weight of its rule */
static __always_inline bool is_group(u64 cgroup)
{
	return config.cgroups && group_of(cgroup);
}

/* The weight of the nearest cgroup that has a rule, from this one up, or 0. Unrolled, because in a loop Linux 6.12's verifier follows each
 * level that there could be. */
static NOINLINE u64 weight_by_cgroup(struct cgroup *cgroup)
{
	u32 deepest = cgroup ? cgroup->level : 0;
	u64 weight, key;

#pragma unroll
	for (u32 level = RULE_LEVELS; level; level--) {
		if (level > deepest)
			continue;
		key = cgroup_at(cgroup, level);
		if (is_group(key))
			return 0;
		weight = weight_by_rule(RULE_CGROUP, key);
		if (weight)
			return weight;
	}
	return 0;
}

/* A rule for a user is also for those that belong to that one. */
static __always_inline u64 weight_by_user(u32 user)
{
	if (config.users)
		return 0;
	return weight_by_rule(RULE_USER, user) ?: weight_by_rule(RULE_USER, owner_of_user(user));
}

static __always_inline u64 weight_by_file(const struct inode *file)
{
	return weight_by_key((struct rule_key){
		.kind = RULE_FILE, .device = file->i_sb->s_dev, .number = file->i_ino, .owner = file->i_uid.val });
}

/* The weight that a rule gives a task that executes this file, or 0 */
static __always_inline u64 weight_by_rules(const struct task_struct *p, const struct inode *file)
{
	return weight_by_file(file) ?: weight_by_cgroup(p->cgroups->dfl_cgrp) ?: weight_by_user(user_of(p));
}

/* The weight that the rules give a task now, or 0. If another one has the id by then, that is looked at a second later. Not static: the
 * verifier checks it by itself. */
NOINLINE u64 rule_of(u32 id)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);
	u64 weight = host_task(id)->rule;
	struct task_struct *p;

	if (!slot)
		return weight;
	bpf_rcu_read_lock();
	p = slot->task;
	/* One that is ending has no memory, and keeps its rule. */
	if (p && p->mm)
		weight = weight_by_rules(p, p->mm->exe_file->f_inode);
	bpf_rcu_read_unlock();
	return weight;
}

#endif
