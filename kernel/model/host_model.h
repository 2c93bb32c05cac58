/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The host as the model sees it: configuration, maps, and what the machine in it holds. */
#ifndef MODEL_HOST_MODEL_H
#define MODEL_HOST_MODEL_H

#include <stdio.h>

#include "model.h"

struct map {
	void *address;
	u32 entries, value_bytes;
	bool is_hash;
	char *data;
};

/* Ends with a map without an address. */
extern struct map host_maps[];

#define MAX_RANGES 8

/* Users that belong to another one */
struct subordinate_users {
	u32 first, last, owner;
};

struct host_options {
	u64 quantum_ns;
	u32 modifiers; /* bits of machine/state.h */
	u32 starvation_limit_ms;
	u32 pool;       /* most tasks with an id; 0: all that there is room for */
	u32 fail_every; /* every n-th new task gets no id */
	bool users;     /* group by user */
	bool cgroups;   /* group by cgroup */
	u32 shards;     /* of a host that is built for several; 0 is one */
	bool uneven;    /* they have different numbers of CPUs */
	u32 nsubordinates;
	struct subordinate_users subordinates[MAX_RANGES];
};

/* 1 unless the host is built for several. */
u32 host_most_shards(void);

/* ops.init, on the CPU that loads. Returns its error. */
s32 load_host(const struct host_options *options);

/* The same with the bytes of a struct host_config and the loader's modifiers, as the loader writes them. */
s32 load_host_as(const void *config, u32 bytes);
/* The size of that struct */
u32 host_config_bytes(void);
/* The loader's command: a weight that no nice value has. Returns whether the task has an id. */
bool host_weigh(const struct task_struct *p, u64 weight);

/* Whether the machine may pick the task, or will when its cgroups' limits permit it. */
bool host_has_custody(const struct task_struct *p);
/* Whether it is held, because a limit is used up. */
bool host_holds(const struct task_struct *p);
/* When the host enqueued it last, by itself or because the kernel did; 0 for a task without an id. */
u64 host_enqueued_at(const struct task_struct *p);
/* Whether it has an id. Others are not limited. */
bool host_knows(const struct task_struct *p);
/* The loader does this each second. */
void host_follow_limits(void);
/* Answers of the policy that broke its contract; tasks that could not be found; events told. */
u64 host_faults(void);
u64 host_missing(void);
/* Whether its machine has it on a CPU; one that has no id, or that the machine does not have as runnable, is not known to. */
bool host_knows_it_runs(const struct task_struct *p);
u64 host_events(void);
u64 host_decisions(void);
/* With several shards: says what is wrong with what the CPU chose just now, or NULL. No other CPU may be in an op. */
const char *host_check_order(s32 cpu);

/* The same while a task is between two shards, on a CPU that reads the clock. Nothing else happens meanwhile. */
const char *host_check_move(void);
/* With several shards, and modifiers: says in which shard a task has another weight than it is to have, or NULL; whether all shards have been
 * told all weights; and what the weights are made of. No CPU may be in an op. */
const char *host_check_weights(void);
bool host_has_news(void);
/* The same of those that there were when it was true last */
bool host_told_news(void);
enum { MODEL_PROCFAIR = 1, MODEL_TFPS = 2, MODEL_GROUPS = 4, MODEL_FEASIBLE = 8 }; /* machine/state.h */
bool host_has_modifier(u32 modifiers);
enum grouping { BY_NOTHING, BY_CGROUP, BY_USER };
enum grouping host_grouping(void);
bool host_has_group(u64 cgroup);
u32 host_owner(const struct task_struct *p);
/* The weight that its shard was told, 0 if it is not runnable there; the one that it asks for; its process */
u64 host_weight(const struct task_struct *p);
u64 host_nominal(const struct task_struct *p);
u32 host_process(const struct task_struct *p);
/* Times that a task went to another shard, and that a CPU took one from there */
u64 host_moves(void);
u64 host_taken(void);
/* The machines, and of each its time and the events that it was told */
u32 host_shards(void);
u64 host_now(u32 shard);
u64 host_events_of(u32 shard);

/* Says what is wrong with who holds which id, or NULL. No CPU may be in an op. */
const char *host_check_ids(void);
/* The same with numbers of groups */
const char *host_check_groups(void);
/* The next value of a hash map from the place *i on; false if there is none. */
bool next_value(void *map, u32 *i, void *value);
/* Ids that somebody holds */
u32 host_ids(void);

bool holds_bpf_lock(void);

/* From a lock to its unlock: the host's accesses to memory, and the function that locked */
struct hold {
	u64 accesses;
	const char *in;
};

extern struct hold longest_hold;

void count_access_under_lock(void);

/* Records of the decision log go there, if it is not NULL. */
extern FILE *decision_log;

#endif
