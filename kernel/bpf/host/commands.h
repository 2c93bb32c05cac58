/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Commands: programs that the loader runs (SEC("syscall")) to set and get weights, rules and parameters, to bring statistics
 * up to date, and to write and read what the modifier flow knows. Their arguments are in host.h. They take the lock.
 */
#ifndef DIVVY_HOST_COMMANDS_H
#define DIVVY_HOST_COMMANDS_H

#include "host/attributes.h"
#include "host/bandwidth.h"
#include "host/task_rules.h"

#define NO_SUCH_TASK 3 /* ESRCH */
#define NO_ROOM 28     /* ENOSPC */

static __always_inline u32 id_of_pid(u32 pid)
{
	struct task_struct *p = bpf_task_from_pid(pid);
	u32 id;

	if (!p)
		return 0;
	id = id_of(p);
	bpf_task_release(p);
	/* The id of a leader that has ended may be another task's. */
	return is_alive(id) && accounts[id & POOL_MASK].pid == pid ? id : 0;
}

/* The weight holds until the task's nice value changes. */
SEC("syscall")
int command_set_weight(struct host_command *c)
{
	u32 id = id_of_pid(c->pid);

	if (!id)
		return NO_SUCH_TASK;
	set_weight(id, c->value, true);
	return 0;
}

SEC("syscall")
int command_get_weight(struct host_command *c)
{
	u32 id = id_of_pid(c->pid);

	if (!id)
		return NO_SUCH_TASK;
	c->value = asked_weight(host_task(id));
	return 0;
}

/* A rule comes, or has another weight, or goes (weight 0). Tasks follow at command_follow_rules, and a group at once. */
SEC("syscall")
int command_set_rule(struct host_rule *c)
{
	struct rule_key key = {
		.kind = c->key.kind, .device = c->key.device, .number = c->key.number, .owner = c->key.owner
	};
	u64 weight = c->weight;
	long error = weight ? bpf_map_update_elem(&rules, &key, &weight, BPF_ANY) : bpf_map_delete_elem(&rules, &key);

	if (!error && key.kind == kind_of_groups())
		weigh_group(key.number, 0);
	/* A rule that found no room may go as well. */
	return error && weight ? NO_ROOM : 0;
}

static u32 ruled_id, ruled_group;

/* All tasks have what the rules say. So have groups, though a group may come in the moment in which its rule does. */
SEC("syscall")
int command_follow_rules(struct host_command *c)
{
	for (ruled_id = 1; config.rules && ruled_id <= last_id && can_loop; ruled_id++)
		if (is_alive(ruled_id))
			follow_rule(ruled_id, rule_of(ruled_id));
	for (ruled_group = 1; config.rules && ruled_group <= last_group && can_loop; ruled_group++)
		if (!has_weight_of_rule(ruled_group))
			weigh_group(keys[ruled_group & GROUP_MASK], 0);
	return 0;
}

static NOINLINE void set_param(u32 shard, u32 owner, u32 index, u64 value)
{
	/* No policy has so many parameters; a mask, because the verifier forgets what is compared with them. */
	struct event e = { .process = owner, .cpu = index & 255, .amount = value, .now = clock_ns() };
	struct bpf_spin_lock *lock = lock_of(shard);

	if (!lock)
		return;
	bpf_spin_lock(lock);
	tell(shard, EVENT_set_param, &e);
	bpf_spin_unlock(lock);
	log_event(shard, EVENT_set_param, &e, e.amount, e.process, 0);
}

SEC("syscall")
int command_set_param(struct host_command *c)
{
	FOR_EACH_SHARD(shard)
		set_param(shard, c->owner, c->index, c->value);
	return 0;
}

static u32 settle_id;

#ifdef DIVVY_SHARDS
static __always_inline void settle_shards(void)
{
	FOR_EACH_SHARD(shard) {
		COUNTS_OF(shard).decisions = machine_at(shard)->decisions;
		COUNTS_OF(shard).runnable = machine_at(shard)->s.tasks.nrunnable;
	}
}
#else
static __always_inline void settle_shards(void)
{
}
#endif

/* Brings all accounts up to date, and what the machine counts. */
SEC("syscall")
int command_settle(struct host_command *c)
{
	settle_shards();
	stats.decisions = OVER_SHARDS(decisions);
	stats.faults = OVER_SHARDS(faults);
	stats.runnable = OVER_SHARDS(s.tasks.nrunnable);
	for (settle_id = 1; settle_id <= last_id && can_loop; settle_id++)
		settle(settle_id);
	return 0;
}

/* Tells the machine an entry of a program's sequence from an earlier run. */
SEC("syscall")
int command_learn(struct host_learn *c)
{
	struct event e = {
		.process = (u32)c->identity, .why = c->identity >> 32, .cpu = c->at, .amount = c->run, .slice = c->wait
	};

	bpf_spin_lock(&lock);
	tell(0, EVENT_learn, &e);
	bpf_spin_unlock(&lock);
	e.id = e.why;
	log_event(0, EVENT_learn, &e, e.amount, e.process, 0);
	return 0;
}

/* Answers what the machine knows of a program, with the entries from `from` on, which is a multiple of HOST_ENTRIES. */
SEC("syscall")
int command_program(struct host_program *c)
{
	struct flow *f = &machine_at(0)->flow;
	u32 place;

	c->known = 0;
	if (!c->identity || !machine_has(machine_at(0), FLOW))
		return 0;
	bpf_spin_lock(&lock);
	place = flow_find(f, c->identity);
	if (place) {
		c->program = *flow_program(f, place);
		f->at = c->from;
		flow_seek(f, place);
		/* The verifier permits writes to the context only at constant offsets. */
#pragma unroll
		for (u32 at = 0; at < HOST_ENTRIES; at++) {
			if (at && at % FLOW_CHUNK == 0)
				f->chunk = f->next[f->chunk & FLOW_CHUNK_MASK];
			c->entry[at] = *flow_entry(f, f->chunk, at);
		}
	}
	bpf_spin_unlock(&lock);
	c->known = place;
	return 0;
}

#endif
