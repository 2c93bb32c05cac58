/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Groups of tasks, for the modifier groups: cgroups (cgroups.h) or users. The map `groups` finds the machine's number
 * of a group; the numbers are taken and freed under the lock. ROOT (0) is the group of tasks without another.
 *
 * There may be more cgroups and users than numbers. A cgroup that has none belongs to its nearest ancestor that has one; users
 * that have none share a group. So nobody gains a share of his own by making groups until there are no more numbers.
 *
 * make_group and enter_group are not static on purpose: the verifier checks such a function once, by itself, and not
 * again on each path of its callers, which call them only sometimes.
 */
#ifndef DIVVY_HOST_GROUPS_H
#define DIVVY_HOST_GROUPS_H

#include "host/decision_log.h"
#include "host/events.h"
#include "host/statistics.h"

/* By the cgroup's inode number, or by the user's number */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u64);
	__type(value, u32);
} groups SEC(".maps");

u32 free_groups[MAX_GROUPS];
u32 nfree_groups;
u32 last_group;

/* ROOT if there is no group for the key */
static __always_inline u32 group_of(u64 key)
{
	u32 *group = bpf_map_lookup_elem(&groups, &key);

	return group ? *group : ROOT;
}

/* Under the lock: returns a free group, or ROOT. A group that was freed while one of its tasks was still dying keeps
 * its parent until that task is gone. It is not used before: with a new parent, groups could contain each other. */
static __always_inline u32 take_group(void)
{
	u32 freed = free_groups[(nfree_groups - 1) & GROUP_MASK];

	if (nfree_groups && !machine.groups.group[freed & GROUP_MASK].k) {
		nfree_groups--;
		return freed;
	}
	return last_group < MAX_GROUPS - 1 ? ++last_group : ROOT;
}

/* Makes a group for the key in a parent. If there is no room it returns the group that is to be used instead. */
NOINLINE u32 make_group(u64 key, u32 parent, u64 weight, u32 instead)
{
	struct event e = { .cpu = parent, .amount = weight, .now = clock_ns() };

	bpf_spin_lock(&lock);
	e.process = take_group();
	if (e.process)
		tell(EVENT_set_group, &e);
	bpf_spin_unlock(&lock);
	if (!e.process)
		return instead;
	log_event(EVENT_set_group, &e, e.amount, e.process, 0);
	if (bpf_map_update_elem(&groups, &key, &e.process,
				BPF_NOEXIST)) { /* another CPU was faster, or there is no room */
		bpf_spin_lock(&lock);
		free_groups[nfree_groups++ & GROUP_MASK] = e.process;
		bpf_spin_unlock(&lock);
		return group_of(key) ?: instead;
	}
	return e.process;
}

NOINLINE int enter_group(u32 id, u32 group)
{
	struct event e = { .id = id, .process = group, .now = clock_ns() };

	bpf_spin_lock(&lock);
	tell(EVENT_enter_group, &e);
	settle_account(id);
	bpf_spin_unlock(&lock);
	log_event(EVENT_enter_group, &e, 0, group, 0);
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

static __always_inline u32 user_of(const struct task_struct *p)
{
	return p->real_cred->uid.val;
}

/* The user to whom this one is subordinate, or itself. */
NOINLINE u32 owner_of_user(u32 user)
{
	u32 low = 0, high = subordinates.n;

	while (low < high && can_loop) {
		u32 middle = (low + high) / 2;
		struct subordinate_range *range = &subordinates.range[middle & (MAX_SUBORDINATES - 1)];

		if (user < range->first)
			high = middle;
		else if (user > range->last)
			low = middle + 1;
		else
			return range->owner;
	}
	return user;
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
