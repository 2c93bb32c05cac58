/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Groups of tasks, for the modifier groups: cgroups (cgroups.h) or users. The map `groups` finds the machine's number
 * of a group; the numbers are taken and freed under the lock. ROOT (0) is the group of tasks without another.
 *
 * There may be more cgroups and users than numbers. A cgroup that has none belongs to its nearest ancestor that has one, also later;
 * users that have none share a group. So a group without a number gives nobody a share of his own, and takes its weight from those in it.
 *
 * A user to whom a cgroup is delegated can make as many in it as he likes. So it may have three times as many numbers in it as are left
 * for the cgroup around it, and that one likewise: one in the root three quarters of all, one in that three quarters of those.
 * However many one user makes, there are numbers left for those beside it, at each level.
 *
 * make_group and enter_group are not static on purpose: the verifier checks such a function once, by itself, and not
 * again on each path of its callers, which call them only sometimes.
 */
#ifndef DIVVY_HOST_GROUPS_H
#define DIVVY_HOST_GROUPS_H

#include "host/attributes.h"
#include "host/decision_log.h"
#include "host/events.h"
#include "host/quotas.h"
#include "host/rules.h"
#include "host/statistics.h"
#include "host/users.h"
#include "host/weighing.h"

/* By the cgroup's inode number, or by the user's number */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u64);
	__type(value, u32);
} groups SEC(".maps");

/* A ring: the number that was freed first is used first. */
u32 free_groups[MAX_GROUPS];
u32 first_free_group;
u32 nfree_groups;
u32 last_group;

/* The cgroup or user of each number, 0 if it is free; written under the lock */
u64 keys[MAX_GROUPS];

/* Groups in each group, at any depth */
u32 groups_in[MAX_GROUPS];
#define QUOTA_OF_LEFT 3

/* ROOT if there is no group for the key */
static __always_inline u32 group_of(u64 key)
{
	u32 *group = bpf_map_lookup_elem(&groups, &key);

	return group ? *group : ROOT;
}

/* Under the lock: whether one more group in this one is within all quotas. `need` is how many must be left for the group that is looked
 * at: it may take n more if it has less than QUOTA_OF_LEFT times what is left around it with n - 1 more. */
static NOINLINE bool may_have_group(u32 parent)
{
	u32 need = 1;

	while (parent != ROOT && can_loop) {
		u32 less = (need - 1) * (1 + QUOTA_OF_LEFT) + groups_in[parent & GROUP_MASK];

		need = less / QUOTA_OF_LEFT + 1;
		parent = weigher()->groups.group[parent & GROUP_MASK].parent;
	}
	return groups_in[ROOT] + need < MAX_GROUPS;
}

/* Under the lock: there are `by` groups more in this one, and those around it. */
static NOINLINE void count_groups(u32 parent, s32 by)
{
	while (parent != ROOT && can_loop) {
		groups_in[parent & GROUP_MASK] += by;
		parent = weigher()->groups.group[parent & GROUP_MASK].parent;
	}
	groups_in[ROOT] += by;
}

/* A group that was freed while one of its tasks was still dying keeps its parent until that task is gone. It is not used before:
 * with a new parent, groups could contain each other. */
#define DYING_GROUPS 16

/* Under the lock: returns a number that was freed, or ROOT. */
static NOINLINE u32 take_freed_group(void)
{
	u32 tries = nfree_groups < DYING_GROUPS ? nfree_groups : DYING_GROUPS;

	while (tries && can_loop) {
		u32 group = free_groups[first_free_group++ & GROUP_MASK];

		if (!weigher()->groups.group[group & GROUP_MASK].k) {
			nfree_groups--;
			return group;
		}
		free_groups[(first_free_group + nfree_groups - 1) & GROUP_MASK] = group;
		tries--;
	}
	return ROOT;
}

/* Under the lock: returns a number for a group in this one, or ROOT. */
static __always_inline u32 take_group(u32 parent)
{
	u32 group;

	if (!may_have_group(parent))
		return ROOT;
	group = take_freed_group();
	if (!group && last_group < MAX_GROUPS - 1)
		group = ++last_group;
	if (group)
		count_groups(parent, 1);
	return group;
}

/* Under the lock */
static __always_inline void free_group(u32 group)
{
	keys[group & GROUP_MASK] = 0;
	if (config.limits)
		limits_set(&limits, group, 0, 0, 0, weigher()->now);
	count_groups(weigher()->groups.group[group & GROUP_MASK].parent, -1);
	free_groups[(first_free_group + nfree_groups++) & GROUP_MASK] = group;
}

/* A rule's weight takes the place of the one that is given, which is kept for when the rule goes. Groups are of one kind. */
static u64 given[MAX_GROUPS];
/* The one that the machine has */
static u64 told[MAX_GROUPS];

static __always_inline u32 kind_of_groups(void)
{
	return config.users ? RULE_USER : RULE_CGROUP;
}

static __always_inline u64 weight_of_group(u64 key, u64 weight)
{
	return weight_by_rule(kind_of_groups(), key) ?: weight;
}

/* Makes a group for the key in a parent. If there is no room it returns the group that is to be used instead. */
NOINLINE u32 make_group(u64 key, u32 parent, u64 weight, u32 instead)
{
	struct event e = { .cpu = parent, .amount = weight_of_group(key, weight), .now = clock_ns() };
	u32 group; /* a copy: the address of e.process would put all of e on the stack */

	bpf_spin_lock(&lock);
	group = e.process = take_group(parent);
	if (e.process) {
		keys[e.process & GROUP_MASK] = key;
		given[e.process & GROUP_MASK] = weight;
		told[e.process & GROUP_MASK] = e.amount;
		tell_weigher(EVENT_set_group, &e);
	}
	bpf_spin_unlock(&lock);
	if (!e.process)
		return instead;
	log_weigher(EVENT_set_group, &e, e.amount, e.process);
	/* If that fails, another CPU was faster, or there is no room. */
	if (bpf_map_update_elem(&groups, &key, &group, BPF_NOEXIST)) {
		bpf_spin_lock(&lock);
		free_group(e.process);
		bpf_spin_unlock(&lock);
		return group_of(key) ?: instead;
	}
	return e.process;
}

/* The group of this key, if there is one, is given this weight, or (0) has another rule than before. Not static either. */
NOINLINE int weigh_group(u64 key, u64 weight)
{
	struct event e = { .process = group_of(key), .now = clock_ns() };
	bool is_its;

	if (!e.process)
		return 0;
	e.amount = weight_of_group(key, weight ?: given[e.process & GROUP_MASK]);
	bpf_spin_lock(&lock);
	/* Another group may have the number since it was looked up. */
	is_its = keys[e.process & GROUP_MASK] == key;
	if (is_its && weight)
		given[e.process & GROUP_MASK] = weight;
	if (is_its) {
		told[e.process & GROUP_MASK] = e.amount;
		e.cpu = weigher()->groups.group[e.process & GROUP_MASK].parent;
		tell_weigher(EVENT_set_group, &e);
	}
	bpf_spin_unlock(&lock);
	pass_on();
	if (is_its)
		log_weigher(EVENT_set_group, &e, e.amount, e.process);
	return 0;
}

/* Whether the machine has the weight that the rules say of a group, or there is no such group. Not static either. */
NOINLINE bool has_weight_of_rule(u32 group)
{
	u64 key = keys[group & GROUP_MASK];

	return !key || told[group & GROUP_MASK] == weight_of_group(key, given[group & GROUP_MASK]);
}

NOINLINE int enter_group(u32 id, u32 group)
{
	struct event e = { .id = id, .process = group, .now = clock_ns() };

	bpf_spin_lock(&lock);
	/* Its old groups keep what it did not use. */
	if (has_limits())
		limits_settle(&limits, weigher(), id, 0);
	tell_weigher(EVENT_enter_group, &e);
	bpf_spin_unlock(&lock);
	pass_on();
	log_weigher(EVENT_enter_group, &e, 0, group);
	return 0;
}

/* ---- users ---- */

/* The group of users for whom there is no other, made first. No user has this number. */
#define OTHER_USERS (~0ull)

/* All users have the weight of nice 0. */
static __always_inline u32 group_of_user(u32 user)
{
	u64 key = user;
	u32 *group = bpf_map_lookup_elem(&groups, &key);

	return group ? *group : make_group(key, ROOT, WEIGHT_NICE_0, group_of(OTHER_USERS));
}

/* A task may have changed its user, as a login or a daemon does. The kernel does not tell, so it is looked at when the
 * task is enqueued. */
static __always_inline void follow_user(const struct task_struct *p, u32 id)
{
	u32 user = user_of(p);

	if (host_task(id)->user == user)
		return;
	host_task(id)->user = user;
	enter_group(id, group_of_user(owner_of_user(user)));
}

#endif
