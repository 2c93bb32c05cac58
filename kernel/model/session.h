/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The messages between a simulator, which knows what tasks do, and the model (session.c), which decides when they run. The model reads
 * on stdin, and answers on stdout. Numbers are in the byte order of the machine: both run on it. ../src/hosted/message.rs mirrors this.
 *
 *   opening, the bytes of a struct host_config
 *   request, its commands       answer, its changes, records of the decision log, the text of an error
 *   ...                         ...
 *
 * A request says what tasks do at a moment, and until when nothing else will be said. The model runs on until then, or until a CPU has another
 * task; its answer says when that is. Times are ns, and those of requests and answers do not go back. The session ends when the simulator
 * closes the pipe, or after an answer with an error.
 */
#ifndef MODEL_SESSION_H
#define MODEL_SESSION_H

#include "model.h"

#define NO_TASK (~0u)

struct opening {
	u64 tick_ns;
	u64 seed;
	u32 ncpus;
	u32 config_bytes;
	u32 log; /* answers have records */
	u32 unused;
};

enum command_kind {
	COMMAND_GROUP, /* a cgroup exists: `task` is its number, `other` that of the one around it, `weight` its cpu.weight */
	COMMAND_CREATE, /* a task exists, and sleeps */
	COMMAND_WAKE,   /* by the task on the CPU `cpu`, or from outside (-1) */
	COMMAND_BLOCK,  /* a task that runs goes to sleep; */
	COMMAND_EXIT,   /* ends; */
	COMMAND_YIELD,  /* lets others run first */
	COMMAND_KILL,   /* any task ends as soon as it runs */
	COMMAND_REAP,   /* a task that lingers does so no more */
	COMMAND_LIMIT,  /* a cgroup has a limit (cpu.max): `task` is its number */
};

struct command {
	u32 kind;
	u32 task;
	u32 other;  /* create: the task that forks it, or NO_TASK; exit, kill: whether it lingers */
	u32 leader; /* create: the first thread of its process, or itself */
	s32 cpu;
	s32 nice;
	u32 group;
	u32 unused;
	u64 weight; /* create: one that no nice value has, or 0 */
	u64 mask;
	u64 quota_ns; /* limit: as in cpu.max and cpu.max.burst */
	u64 period_ns;
	u64 burst_ns;
};

struct request {
	u64 now_ns;
	u64 until_ns;
	u32 ncommands;
	u32 unused;
};

struct change {
	s32 cpu; /* it has another task now; -1: the task is gone, and its number is free */
	u32 task;
};

struct answer {
	u64 now_ns;
	u64 decisions;
	u64 faults;
	struct calls calls;
	u32 nchanges;
	u32 record_bytes;
	u32 error_bytes;
	u32 unused;
};

#endif
