/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A task gets an id, and becomes known to the machine: when it starts, or later, when it stops and one is free. The functions take
 * the lock.
 */
#ifndef DIVVY_HOST_IDS_H
#define DIVVY_HOST_IDS_H

#include "host/attributes.h"
#include "host/groups.h"
#include "host/weighing.h"

/* Facts that the machine is told of a new task */
struct newcomer {
	u64 weight;
	u64 rule; /* that of the task that forks it, or 0 */
	u32 pid, tgid;
	u32 leader;      /* id of its process's leader, if that is another and has one */
	u32 parent;      /* id of the task that forks it now, or 0 */
	bool owes;       /* it was forked, now or before */
	u32 user, owner; /* its user, and the one to whom that belongs */
};

#ifdef DIVVY_SHARDS
/* It begins where its parent is. Its process is the host's matter: a machine of several is told that each task is one. */
static __always_inline u32 begin_in_shard(u32 id, const struct newcomer *n, u64 weight)
{
	struct event e = { .id = id, .process = id, .amount = weight, .now = clock_ns() }, fork = e;
	u32 shard = n->parent ? shard_of(n->parent) : id % shards.n;
	struct bpf_spin_lock *lock = lock_of(shard);

	shard_of_task[id & POOL_MASK] = shard;
	if (!lock)
		return id;
	bpf_spin_lock(lock);
	/* The parent may have moved meanwhile. */
	fork.process = is_still_in(shard, n->parent) ? n->parent : 0;
	host_task(id)->move.has_no_tag = !fork.process;
	tell(shard, EVENT_new, &e);
	if (n->owes)
		tell(shard, EVENT_fork, &fork);
	bpf_spin_unlock(lock);
	log_event(shard, EVENT_new, &e, e.amount, id, 0);
	if (n->owes)
		log_event(shard, EVENT_fork, &fork, 0, fork.process, 0);
	return id;
}
#endif

/* Returns the id, or 0 if there is none for its user. Not static: the verifier checks it by itself. */
NOINLINE u32 give_id(struct newcomer *n)
{
	struct event e = { .now = clock_ns() };
#ifndef DIVVY_SHARDS
	struct event fork = { .now = e.now };
#endif

	if (!n)
		return 0;
	e.amount = ruled(n->weight, n->rule);
#ifndef DIVVY_SHARDS
	fork.process = n->parent;
#endif
	bpf_spin_lock(&lock);
	e.id = take_id(n->owner);
	if (!e.id) {
		bpf_spin_unlock(&lock);
		return 0;
	}
	e.process = process_of(e.id, n->leader, n->tgid);
	*host_task(e.id) = (struct host_task){
		.holders = 1, .user = n->user, .payer = n->owner, .weight = n->weight, .rule = n->rule
	};
	host_task(e.process)->holders++;
#ifdef DIVVY_SHARDS
	tell_weigher(EVENT_new, &e);
	stats.tasks++;
	open_account(e.id, n->pid, n->tgid, &e);
	bpf_spin_unlock(&lock);
	return begin_in_shard(e.id, n, e.amount);
#else
	tell(0, EVENT_new, &e);
	fork.id = e.id;
	if (n->owes)
		tell(0, EVENT_fork, &fork);
	stats.tasks++;
	open_account(e.id, n->pid, n->tgid, &e);
	bpf_spin_unlock(&lock);

	log_event(0, EVENT_new, &e, e.amount, e.process, 0);
	if (n->owes)
		log_event(0, EVENT_fork, &fork, 0, fork.process, 0);
	return e.id;
#endif
}

static __always_inline u32 leader_id(const struct task_struct *p)
{
	struct task_struct *leader = p->group_leader;

	return leader && p->pid != p->tgid ? id_of(leader) : 0;
}

/* A function of its own, so that the compiler can use the stack of `n` again afterwards. */
static __always_inline u32 give_id_to(struct task_struct *p, bool owes, u32 parent, u32 owner)
{
	struct newcomer n = {
		.weight = exact_weight(p),
		.rule = host_task(parent)->rule,
		.pid = p->pid,
		.tgid = p->tgid,
		.leader = leader_id(p),
		.parent = parent,
		.owes = owes,
		.user = user_of(p),
		.owner = owner,
	};

	return give_id(&n);
}

/* Gives the task an id, if there is one for it. `group` is its cgroup's. What a forked task owes is in machine/family.h. */
static __always_inline void make_known(struct task_struct *p, u32 group, bool owes, u32 parent)
{
	u32 owner = owner_of_user(user_of(p)), id = give_id_to(p, owes, parent, owner);

	if (!id)
		return;
	host_task(id)->sum_exec_limited = p->se.sum_exec_runtime;
	set_dsq_vtime(p, id);
	if (config.users)
		group = group_of_user(owner);
	if (group)
		enter_group(id, group);
	if (!may_run_anywhere(p) || is_migration_disabled(p, 1))
		set_allowed(id, p->cpus_ptr);
}

/* A task without an id stops. */
static __always_inline void adopt(struct task_struct *p)
{
	u64 known = p->scx.dsq_vtime;

	if (p->flags & (PF_KTHREAD | PF_EXITING) || known & NO_ID_EVER || !may_have_id(owner_of_user(user_of(p))))
		return;
	make_known(p, known >> NO_ID_GROUP & GROUP_MASK, true, 0);
	if (id_of(p))
		__sync_fetch_and_sub(&stats.without_id, 1);
}

/* From now on it is a thread of the process that the leader stands for. */
NOINLINE int follow_leader(u32 id, u32 leader, u32 tgid)
{
	struct event e = { .id = id, .now = clock_ns() };

	bpf_spin_lock(&lock);
	e.process = process_of(id, leader, tgid);
	host_task(e.process)->holders++;
	release_id(process_holder(id));
	tell_weigher(EVENT_set_process, &e);
	accounts[id & POOL_MASK].process = e.process;
	bpf_spin_unlock(&lock);
	pass_on();
	log_weigher(EVENT_set_process, &e, 0, e.process);
	return 0;
}

/* A thread stood for itself, because its process's leader had no id. Now that one has. */
static __always_inline void follow_process(const struct task_struct *p, u32 id)
{
	u32 leader = leader_id(p);

	if (is_of_process(leader, p->tgid) && process_holder(id) == id)
		follow_leader(id, leader, p->tgid);
}

#endif
