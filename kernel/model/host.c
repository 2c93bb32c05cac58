/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The host itself, unchanged, and what the model asks of it. */
#include "host.bpf.c"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_model.h"

#define ARRAY(map, n) { &map, n, sizeof(*map.value), false, NULL }
#define HASH(map, n) { &map, n, sizeof(*map.value), true, NULL }

struct map host_maps[] = {
	ARRAY(slots, POOL),
	ARRAY(timers, TIMERS),
	ARRAY(exec_scratches, 1),
	HASH(groups, MAX_GROUPS),
	HASH(names, 64),
#ifdef DIVVY_SHARDS
	ARRAY(locks, MOST_SHARDS),
#endif
	{},
};

/* A loader writes this data before the program starts; here it is in pages that cannot be written. */
static void make_writable(const volatile void *data, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)data & ~(page - 1);

	mprotect((void *)from, (uintptr_t)data + bytes - from, PROT_READ | PROT_WRITE);
}

/* A count of all shards */
#define SUM_OF(field) \
	({ \
		u64 sum_ = 0; \
		for (u32 s_ = 0; s_ < host_shards(); s_++) \
			sum_ += COUNTS_OF(s_).field; \
		sum_; \
	})

#include "host_shards.h"

s32 load_host(const struct host_options *options)
{
	struct host_config *c = (struct host_config *)&config;
	u16 n = 0;

	make_writable(&config, sizeof(config));
	make_writable(&modifiers_loaded, sizeof(modifiers_loaded));
	c->pool = options->pool ? options->pool : POOL - 1;
	c->fail_every = options->fail_every;
	c->log = true; /* it numbers events, and so counts them */
	c->starvation_limit_ms = options->starvation_limit_ms;
	c->tick_ns = (u32)model.tick_ns;
	c->users = options->users;
	c->cgroups = options->cgroups;
	c->limits = options->cgroups;
	subordinates.n = options->nsubordinates;
	for (u32 i = 0; i < options->nsubordinates; i++)
		subordinates.range[i] =
			(struct subordinate_range){ options->subordinates[i].first, options->subordinates[i].last,
						    options->subordinates[i].owner };
	/* The machine numbers the CPUs that are online, without gaps. */
	for (u32 i = 0; i < MAX_CPUS; i++) {
		bool online = i < model.ncpus && cpus[i].is_online;

		c->cpu[i] = online ? n : NO_CPU;
		if (online)
			c->kernel_cpu[n++] = i;
	}
	divide(options, n);
	c->config.quantum = options->quantum_ns;
	c->config.ncpus = n;
	c->config.modifiers = options->modifiers;
#define DEFAULT(name, kind, unit, value, min, max, help) c->config.policy.name = value;
	POLICY_PARAMS(DEFAULT)
#undef DEFAULT
#define DEFAULT(name, kind, unit, value, min, max, help) c->config.MODIFIER.name = value;
#define MODIFIER procfair
	PROCFAIR_PARAMS(DEFAULT)
#undef MODIFIER
#define MODIFIER tfps
	TFPS_PARAMS(DEFAULT)
#undef MODIFIER
#define MODIFIER groups
	GROUPS_PARAMS(DEFAULT)
#undef MODIFIER
#define MODIFIER feasible
	FEASIBLE_PARAMS(DEFAULT)
#undef MODIFIER
#define MODIFIER flow
	FLOW_PARAMS(DEFAULT)
#undef MODIFIER
	*(unsigned int *)&modifiers_loaded = options->modifiers;
	return host_init();
}

u32 host_config_bytes(void)
{
	return sizeof(config);
}

s32 load_host_as(const void *given, u32 bytes)
{
	struct host_config *c = (struct host_config *)&config;

	if (bytes != sizeof(config))
		return -EINVAL;
	make_writable(&config, sizeof(config));
	make_writable(&modifiers_loaded, sizeof(modifiers_loaded));
	memcpy(c, given, bytes);
	c->log = true;
	*(unsigned int *)&modifiers_loaded = c->config.modifiers;
	return host_init();
}

bool host_weigh(const struct task_struct *p, u64 weight)
{
	struct host_command command = { .pid = (u32)p->pid, .value = weight };

	return command_set_weight(&command) == 0;
}

bool host_has_custody(const struct task_struct *p)
{
	return id_of(p) && (task_in_machine(id_of(p))->state & CUSTODY || is_held(id_of(p)));
}

bool host_holds(const struct task_struct *p)
{
	return id_of(p) && is_held(id_of(p));
}

u64 host_enqueued_at(const struct task_struct *p)
{
	return id_of(p) ? host_task(id_of(p))->enqueued : 0;
}

bool host_knows(const struct task_struct *p)
{
	return id_of(p);
}

void host_follow_limits(void)
{
	command_limits(NULL);
}

/* The ids that tasks and processes hold, counted anew */
static u32 holders[POOL];

static const char *check_holders(void)
{
	u32 held = 0, paid = 0;

	for (u32 id = 1; id <= last_id; id++) {
		if (holders[id] != host_task(id)->holders)
			return "an id has another number of holders";
		held += !!holders[id];
	}
	for (u32 user = 0; user < QUOTAS; user++)
		paid += ids_of[user];
	if (held != last_id - nfree)
		return "ids that nobody holds are not free";
	return held == paid ? NULL : "users have another number of ids";
}

const char *host_check_ids(void)
{
	u32 known = 0, unknown = 0;

	memset(holders, 0, sizeof(holders));
	for (u32 i = 0; i < model.ntasks; i++) {
		const struct task_struct *p = &tasks[i].t;
		u32 id = tasks[i].is_known ? id_of(p) : 0;

		if (!tasks[i].is_known || p->flags & PF_KTHREAD)
			continue;
		known += !!id;
		unknown += !id;
		if (!id)
			continue;
		if (accounts[id].pid != (u32)p->pid)
			return "two tasks have one id";
		holders[id]++;
		holders[process_holder(id)]++;
	}
	if (known != stats.tasks || unknown != stats.without_id)
		return "the counts of tasks with and without an id are wrong";
	return check_holders();
}

/* Groups in each group, counted anew */
static u32 counted[MAX_GROUPS];

const char *host_check_groups(void)
{
	static bool has_number[MAX_GROUPS];
	u32 n = 0, value;

	memset(counted, 0, sizeof(counted));
	memset(has_number, 0, sizeof(has_number));
	for (u32 i = 0; next_value(&groups, &i, &value); n++) {
		if (!value || value >= MAX_GROUPS || has_number[value])
			return "two groups have one number";
		has_number[value] = true;
		while (value != ROOT)
			counted[value = weigher()->groups.group[value].parent]++;
	}
	if (n != last_group - nfree_groups)
		return "numbers of groups are lost";
	for (u32 i = 0; i < nfree_groups; i++)
		if (has_number[free_groups[(first_free_group + i) & GROUP_MASK]])
			return "a group's number is free";
	return memcmp(counted, groups_in, sizeof(counted)) ? "groups have another number of groups in them" : NULL;
}

u64 host_faults(void)
{
	return OVER_SHARDS(faults);
}

bool host_has_modifier(u32 modifiers)
{
	return modifiers_of(modifiers_loaded) & modifiers;
}

enum grouping host_grouping(void)
{
	return config.users ? BY_USER : config.cgroups ? BY_CGROUP : BY_NOTHING;
}

bool host_has_group(u64 cgroup)
{
	for (u32 group = 1; group <= last_group; group++)
		if (keys[group] == cgroup)
			return true;
	return false;
}

u32 host_owner(const struct task_struct *p)
{
	return owner_of_user(user_of(p));
}

u64 host_weight(const struct task_struct *p)
{
	const struct task *t = task_in_machine(id_of(p));

	return id_of(p) && t->state & RUNNABLE ? t->nominal : 0;
}

u64 host_nominal(const struct task_struct *p)
{
	return exact_weight(p);
}

u32 host_process(const struct task_struct *p)
{
	return process_holder(id_of(p));
}

bool host_knows_it_runs(const struct task_struct *p)
{
	u32 id = id_of(p), state = task_in_machine(id)->state;

	return !id || !(state & RUNNABLE) || state & ON_CPU;
}

u64 host_moves(void)
{
	return SUM_OF(moves);
}

u64 host_taken(void)
{
	return SUM_OF(taken);
}

u64 host_missing(void)
{
	return stats.missing;
}

u64 host_events(void)
{
	return stats.events;
}

u32 host_ids(void)
{
	return last_id - nfree;
}

u64 host_now(u32 shard)
{
	return machine_at(shard)->now;
}

u64 host_events_of(u32 shard)
{
#ifdef DIVVY_SHARDS
	return events_of[shard];
#else
	return stats.events;
#endif
}

u64 host_decisions(void)
{
	return OVER_SHARDS(decisions);
}
