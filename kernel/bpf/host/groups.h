/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Groups
 */
#ifndef DIVVY_HOST_GROUPS_H
#define DIVVY_HOST_GROUPS_H

#include "host/decision_log.h"
#include "host/events.h"
#include "host/statistics.h"

/* The groups of cgroups, by inode number, or of users, by number */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u64);
	__type(value, u32);
} groups SEC(".maps");

u32 free_groups[MAX_GROUPS];
u32 nfree_groups;
u32 last_group;

/* Of a cgroup or a user; 0, the root, if it has none */
static __always_inline u32 group_of(u64 key)
{
	u32 *group = bpf_map_lookup_elem(&groups, &key);

	return group ? *group : ROOT;
}

/* Under the lock: a free group, or ROOT. One that was freed while a task of it was still dying keeps its parent until that
 * is gone, and waits: with another one meanwhile groups could come to be within themselves. */
static __always_inline u32 take_group(void)
{
	u32 freed = free_groups[(nfree_groups - 1) & GROUP_MASK];

	if (nfree_groups && !machine.groups.group[freed & GROUP_MASK].k) {
		nfree_groups--;
		return freed;
	}
	return last_group < MAX_GROUPS - 1 ? ++last_group : ROOT;
}

/* A group of this key in a parent; ROOT if no more can be had, and its tasks are in the root then. */
NOINLINE u32 make_group(u64 key, u32 parent, u64 weight)
{
	struct event e = { .cpu = parent, .amount = weight, .now = clock_ns() };

	bpf_spin_lock(&lock);
	e.process = take_group();
	if (e.process)
		tell(EVENT_set_group, &e);
	bpf_spin_unlock(&lock);
	if (!e.process)
		return ROOT;
	note(EVENT_set_group, &e, e.amount, e.process, 0);
	if (bpf_map_update_elem(&groups, &key, &e.process, BPF_NOEXIST)) { /* another CPU was faster */
		bpf_spin_lock(&lock);
		free_groups[nfree_groups++ & GROUP_MASK] = e.process;
		bpf_spin_unlock(&lock);
		return group_of(key);
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
	note(EVENT_enter_group, &e, 0, group, 0);
	return 0;
}

/* Of a user, who weighs as nice 0 */
static __always_inline u32 group_of_user(u32 user)
{
	u64 key = user;
	u32 *group = bpf_map_lookup_elem(&groups, &key);

	return group ? *group : make_group(key, ROOT, WEIGHT_NICE_0);
}

static __always_inline u32 user_of(const struct task_struct *p)
{
	return p->real_cred->uid.val;
}

/* It may have become another user's: a login, a daemon. */
static __always_inline void follow_user(const struct task_struct *p, u32 id)
{
	u32 user = user_of(p);

	if (host_task(id)->user == user)
		return;
	host_task(id)->user = user;
	enter_group(id, group_of_user(user));
}

#endif
