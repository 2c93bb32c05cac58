/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the loader and the BPF host (host.bpf.c) tell each other. Compiled once a policy; what depends on
 * the policy comes last. src/load/ mirrors it; a test compares.
 */
#ifndef DIVVY_HOST_H
#define DIVVY_HOST_H

#include "event.h"

/* .rodata.config: set before loading */
struct host_config {
	u32 pool;                 /* tasks that the policy takes at most, below POOL; further ones wait in the fallback DSQ */
	u32 fail_every;           /* for tests: every n-th new task gets no id; 0 none */
	u32 log;                  /* write records */
	u32 cgroups;              /* a task's group is its cgroup */
	u32 patience_ms;          /* a task that waits for longer runs out of turn; 0 it does not */
	u32 sample;               /* every n-th event of the machine measures its wait for the lock; a power of two; 0 none */
	u32 tick_ns;              /* the kernel's */
	u32 users;                /* a task's group is its user */
	u16 cpu[MAX_CPUS];        /* of a kernel's CPU: the machine's, or NO_CPU */
	u16 kernel_cpu[MAX_CPUS]; /* of a machine's CPU: the kernel's */
	struct config config;
};

/* .data.stats: since loading, a u64 each, in this order. S(name, what it counts) */
#define STATS(S) \
	S(decisions, "times that the policy was asked") \
	S(faults, "answers against the contract") \
	S(events, "events told to the machine") \
	S(switches, "tasks that came on a CPU") \
	S(wakes, "tasks that became runnable") \
	S(kept, "turns that went on after an interruption by the kernel") \
	S(kicks, "CPUs asked to dispatch") \
	S(kernel_threads, "times that a kernel thread went first") \
	S(pinned, "times that a task that may not migrate stayed where it was") \
	S(fallbacks, "times that a task without an id went to the fallback DSQ") \
	S(rescues, "turns given to tasks that had waited beyond patience") \
	S(missing, "tasks picked that could not be found") \
	S(late, "times that a CPU waited for a task that it had picked on another") \
	S(without_id, "tasks alive without an id") \
	S(tasks, "tasks alive with an id") \
	S(runnable, "tasks runnable now") \
	S(records, "records of the log") \
	S(dropped, "records that found no room") \
	S(lock_samples, "events whose wait for the lock was measured") \
	S(lock_wait_ns, "what they waited together")

#define STAT_FIELD(name, help) u64 name;
struct host_stats {
	STATS(STAT_FIELD)
};

/* .data.tasks: a row a task, by id; a row without a pid is free. Written under the lock, read without. Times are those
 * when it last stopped, or when command_settle was last run. */
struct account {
	u64 received_ns;
	u64 entitled_ns; /* by its effective weight, in the fluid model */
	u64 weight;      /* effective, nice 0 is 2^20 */
	u64 nominal;
	u64 waited_ns;   /* for a CPU, before turns that are over or run */
	u32 pid;
	u32 tgid;
	u32 turns;
	u32 process; /* id of the task that stands for its process */
	u32 runnable;
	u32 waits; /* turns that it waited for: not those that the kernel interrupted, and that went on */
};

/* .data.exit: how it ended */
#define EXIT_DUMP_LEN 32768
struct host_exit {
	s64 kind; /* enum scx_exit_kind; 0 while it runs */
	s64 code;
	char reason[128];
	char msg[1024];
	char dump[EXIT_DUMP_LEN];
};

/* Argument of SEC("syscall") programs: command_set_weight, command_get_weight, command_set_param, command_settle */
struct host_command {
	u32 pid;
	u32 owner;  /* of a parameter: 0 the policy, else the modifier's bit */
	u32 index;  /* of a parameter */
	u32 unused;
	u64 value;  /* the weight, nice 0 is 2^20, answered by get_weight; the parameter */
};

/* The map `names`, by a program's identity: what was executed since loading, for people. */
#define MAX_NAMES 8192
#define NAME_BYTES 236
struct host_name {
	char comm[16];
	u32 bytes; /* of all arguments, each with its end; args has those for which there is room */
	char args[NAME_BYTES];
};

/* Argument of command_learn: an entry of a program's sequence */
struct host_learn {
	u64 identity;
	u64 run;  /* T_p, ns */
	u64 wait; /* ns */
	u32 at;
	u32 unused;
};

/* Argument of command_program: what is known of a program */
struct host_program {
	u64 identity; /* asked for */
	u64 known;    /* answer: whether there is such a program, and then what follows */
	struct flow_program program;
	struct flow_entry entry[FLOW_LENGTH];
};

/*
 * The ring buffer `records`: what the machine was told and answered, one event a record, numbered in the order in
 * which it was told. Records arrive out of order, and those that found no room are missing. On more than 64 CPUs a
 * set_allowed has four records with one number; `why` is 1 in that of the first 64.
 */
#define LOG_BYTES (1 << 24)

struct record {
	u64 now;    /* as the machine took it */
	u64 value;  /* weight, service, parameter, 64 bits of allowed CPUs, identity, T_p of learn; answer of dispatch: slice */
	u32 seq;    /* from 1, wraps */
	u32 id;     /* the task; of learn, the upper half of the identity, and its lower half is the answer */
	u32 answer; /* of dispatch: the task. Of new and set_process: the process. Of set_group and enter_group: the group.
		     * Of set_param: the owner */
	u16 cpu;    /* told, or answered: the CPU to kick. Of allowed: which 64 CPUs. Of set_param: the index. Of set_group:
		     * the parent. Of learn: the position */
	u8 kind;    /* enum event_kind */
	u8 why;     /* or, of dispatch, the CPU told */
};

_Static_assert(sizeof(struct record) == 32, "src/log/format.rs reads it");

#endif
