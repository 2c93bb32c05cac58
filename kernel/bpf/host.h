/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The data that the loader and the BPF host (host.bpf.c) exchange: configuration, counters, accounts, commands and
 * records of the log. It is compiled once for each policy, and the parts that depend on the policy come last.
 * src/load/host.rs mirrors this file, and a test compares the two.
 */
#ifndef DIVVY_HOST_H
#define DIVVY_HOST_H

#include "event.h"

/* .rodata.config: written before loading */
struct host_config {
	u32 pool;                /* most tasks with an id, less than POOL; further tasks wait in the fallback DSQ */
	u32 fail_every;          /* for tests: every n-th new task gets no id; 0: all get one */
	u32 log;                 /* write records of the decision log */
	u32 cgroups;             /* group tasks by cgroup */
	u32 starvation_limit_ms; /* a task that waits for longer runs out of order; 0: no limit */
	u32 no_sample;           /* a dispatch is measured if the count of decisions before it has none of these bits */
	u32 tick_ns;             /* the kernel's tick */
	u32 users;               /* group tasks by user */
	u32 limits;              /* keep the limits of CPU time that cgroups have; with cgroups */
	u32 rules;               /* there may be rules */
	u16 cpu[MAX_CPUS];       /* by the kernel's number of a CPU: the machine's, or NO_CPU */
	u16 kernel_cpu[MAX_CPUS]; /* by the machine's number of a CPU: the kernel's */
	struct config config;
};

/* .rodata.shards, of the host with several (host/shards.h): CPUs by the machine's number, in shards of neighbours */
#define MOST_SHARDS 64u
#define SHARD_MASK (MOST_SHARDS - 1)
struct host_shards {
	u32 n;
	u32 mask; /* there are machines for this shard and those before it: a power of two less one */
	u32 skew_quanta;
	u32 steal;
	u16 first[MOST_SHARDS]; /* CPU of each shard */
	u16 cpus[MOST_SHARDS];  /* of each shard, at most 64 */
	u8 of_cpu[MAX_CPUS];    /* the shard of each CPU */
};

/* .data.subordinates: users that belong to others, in order and apart */
#define MAX_SUBORDINATES 16384
struct subordinates {
	u32 n;
	struct subordinate_range {
		u32 first, last;
		u32 owner;
	} range[MAX_SUBORDINATES];
};

/* .data.stats: counts since loading, a u64 each, in this order; decisions, faults and runnable as of the last command_settle.
 * S(name, what it counts) */
#define STATS(S) \
	S(decisions, "times that the policy was asked") \
	S(faults, "answers against the contract") \
	S(events, "events told to the machine, if there is a log of them") \
	S(switches, "tasks that came on a CPU") \
	S(wakes, "tasks that became runnable") \
	S(kept, "slices that went on after an interruption by the kernel") \
	S(kicks, "CPUs asked to dispatch") \
	S(kernel_threads, "times that a kernel thread went first") \
	S(pinned, "times that a task that must not migrate was enqueued for its CPU") \
	S(fallbacks, "times that a task without an id went to the fallback DSQ") \
	S(rescues, "slices granted to tasks that had waited beyond the starvation limit") \
	S(held, "times that a task was held because a cgroup around it had used up its limit of CPU time") \
	S(missing, "picked tasks that could not be found") \
	S(late, "times that a CPU waited for a task that it had picked on another") \
	S(without_id, "tasks alive without an id") \
	S(tasks, "tasks alive with an id") \
	S(runnable, "tasks runnable now") \
	S(records, "records of the log") \
	S(dropped, "records that found no room") \
	S(lock_samples, "dispatches whose wait for the lock was measured") \
	S(lock_wait_ns, "the total of those waits") \
	S(moves, "times that a task went to another shard") \
	S(taken, "tasks that a CPU took from another shard")

#define STAT_FIELD(name, help) u64 name;
struct host_stats {
	STATS(STAT_FIELD)
};

/* .data.shards: counts of each shard since loading, if there are several; decisions and runnable as of the last command_settle. Moves, taken
 * tasks and waits for locks are then counted only here, and the loader adds them up. */
#define SHARD_STATS(S) \
	S(decisions, "times that its policy was asked") \
	S(runnable, "its tasks that are runnable now") \
	S(moves, "times that a task came from another shard") \
	S(taken, "its tasks that a CPU of another shard took") \
	S(lock_samples, "dispatches whose wait for its lock was measured") \
	S(lock_wait_ns, "the total of those waits")

struct shard_stats {
	SHARD_STATS(STAT_FIELD)
};

/* .data.tasks: a row for each task, by id; a row without a pid is free. Written under the lock, read without it. The row
 * is as of the last command_settle, and of the task's end; pid, tgid, process and nominal are as of now. `runnable` is written without
 * the lock. */
struct account {
	u64 received_ns; /* CPU time */
	u64 entitled_ns; /* CPU time in the fluid model, by its effective weight */
	u64 weight;      /* effective; nice 0 is 2^20 */
	u64 nominal;     /* weight */
	u64 waited_ns;   /* time that it waited for a CPU, without a wait that still lasts */
	u32 pid;
	u32 tgid;
	u32 turns;   /* times that it came on a CPU; viewers read this name */
	u32 process; /* id of the task that stands for its process */
	u32 runnable;
	u32 waits; /* turns for which it waited, without those after an interruption by the kernel */
};

/* .data.exit: how the scheduler ended */
#define EXIT_DUMP_LEN 32768
struct host_exit {
	s64 kind; /* enum scx_exit_kind; 0 while the scheduler runs */
	s64 code;
	char reason[128];
	char msg[1024];
	char dump[EXIT_DUMP_LEN];
};

/* The argument of command_set_weight, command_get_weight, command_set_param, command_settle and command_limits */
struct host_command {
	u32 pid;
	u32 owner; /* of the parameter: 0 is the policy, else the modifier's bit */
	u32 index; /* of the parameter */
	u32 unused;
	u64 value; /* the parameter; or the weight (nice 0 is 2^20), which get_weight answers */
};

/* The map `rules`: whom a rule is about, as numbers of this machine. So many, because a name may stand for several */
#define MAX_RULES 16384
enum rule_kind { RULE_USER = 1, RULE_CGROUP, RULE_FILE };
struct rule_key {
	u32 kind;
	u32 device; /* of a file: the kernel's number of its file system's device */
	u64 number; /* the user, the cgroup's inode number, or the file's */
	u32 owner;  /* of a file: on btrfs one of another owner can have its number */
	u32 unused;
};

/* The argument of command_set_rule */
struct host_rule {
	struct rule_key key;
	u64 weight; /* nice 0 is 2^20; 0: there is no such rule any more */
};

/* The greatest weight that a rule may give */
#define MOST_BY_RULE (100000000ull << 10)

/* The map `names`, by a program's identity: the command lines that were executed since loading, for people. */
#define MAX_NAMES 8192
#define NAME_BYTES 236
struct host_name {
	char comm[16];
	u32 bytes; /* length of all arguments, each with its end; args has as many as there is room for */
	char args[NAME_BYTES];
};

/* The argument of command_learn: an entry of a program's sequence */
struct host_learn {
	u64 identity;
	u64 run;  /* T_p, ns */
	u64 wait; /* after that run, ns */
	u32 at;   /* position in the sequence */
	u32 unused;
};

/* The argument of command_program: what the machine knows of a program */
#define HOST_ENTRIES 64 /* in one answer */
struct host_program {
	u64 identity; /* asked for */
	u64 from;     /* the first entry that is asked for, a multiple of HOST_ENTRIES */
	u64 known;    /* answer: not 0 if there is such a program; then the rest is valid */
	struct flow_program program;
	struct flow_entry entry[HOST_ENTRIES]; /* those below program.n are its entries */
};

/*
 * A record of the ring buffer `records`: an event that the machine was told, and its answer. `seq` numbers events in
 * the order in which they were told. Records arrive out of order, and those that found no room are missing. With more
 * than 64 CPUs a set_allowed has four records with the same number; `why` is 1 in the record of the first 64 CPUs.
 */
#define LOG_BYTES (1 << 24)
#define LOG_SHARD 8

struct record {
	u64 now;   /* ns, as the machine took it */
	u64 value; /* weight, service, parameter, 64 bits of allowed CPUs, identity, T_p (learn), or slice (dispatch) */
	u32 seq;   /* from 1, wraps */
	u32 id;    /* the task; learn: the upper half of the identity */
	/* dispatch: the task that was picked; new, set_process: the process; set_group, enter_group: the group;
	 * set_param: the owner; learn: the lower half of the identity; set_allowed: the CPU to kick */
	u32 answer;
	/* the CPU told, or the answer: the CPU to kick; set_allowed: which 64 CPUs; set_param: the index;
	 * set_group: the parent; learn: the position. With several shards that has LOG_SHARD bits, and the shard is in those above. */
	u16 cpu;
	u8 kind; /* enum event_kind */
	u8 why;  /* dispatch: the CPU told */
};

_Static_assert(sizeof(struct record) == 32, "the format of decision logs");

#endif
