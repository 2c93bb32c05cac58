/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The fuzzer's own knowledge of each task, from the events, the answers and the machine's calls to the policy. */
#ifndef DIVVY_FUZZ_MODEL_H
#define DIVVY_FUZZ_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy.h"

/* The state of a task as the contract lets a policy see it */
enum seat { OUT, WAITS, HAS_SLICE };

struct model_task {
	bool known, runnable, custody, on;
	bool member; /* runnable, or blocked and kept by the policy: lazy removal */
	u32 process, group;
	u64 nominal, since;
	long double rate;           /* CPUs, in the hierarchical fluid */
	long double rate_off;       /* how far the machine may be from it */
	u64 received;               /* ns, over all runs that ended */
	u64 charged;                /* ns, by the machine to the policy */
	u64 late;                   /* ns, that the last run went on after its slice had ended */
	u64 stolen;                 /* ns, the most that a run was on a CPU without receiving service */
	u64 ended;                  /* when its last slice did */
	u64 told;                   /* weight that the policy knows */
	unsigned __int128 entitled; /* 2^-32 ns, by the fluid model */
	unsigned __int128 blur;     /* 2^-32 ns, how far entitled.h may be from it */
	enum seat seat;
	u32 parent;    /* the task that forked it, 0 if that is gone or was none */
	u64 debit;     /* ns, that it owes as a child */
	u32 exits;     /* children that exited, and that no other came after */
	u64 most;      /* ns, that one of these was ahead */
	u64 heaviest;  /* weight that it asked for */
	u64 turn;      /* ns, of its slice, or after it of its last one */
	u64 longest;   /* slice, by the policy */
	u64 ahead;     /* ns, that it had received before they were due when it exited */
	bool aside;    /* the machine keeps it in the order of its class */
	bool succeeds; /* it came after a child that exited */
	bool was_picked;
	bool pinned;
	bool delayed; /* the end of its slice was put off */
	bool asked;   /* the policy was, for how long its slice may last */
	bool moved; /* it moved so, and has service that was not charged since: its slice may have ended long before its run */
	bool moving; /* it may run on other CPUs from now on: the policy may lose it or get it */
	u64 allowed[CPU_WORDS];
};

struct model {
	u64 now, events;
	u32 ncpus, modifiers;
	bool by_group;          /* +procfair, +tfps: threads are counted by group */
	bool count_all;         /* +procfair, +tfps: threads that are not runnable, too */
	bool keeps_apart;       /* POLICY_SHARES */
	bool as_asked;          /* +feasible: weights with no more tasks than CPUs */
	u64 stops;              /* of slices, that the policy was told */
	u64 stops_before;       /* a dispatch */
	u64 quantum;            /* ns */
	u64 tm;                 /* +flow: how long the end of a slice may be put off */
	u32 slice_of[MAX_CPUS]; /* the task that has its slice there, by the machine's answers */
	bool idle[MAX_CPUS];
	u32 promised[MAX_CPUS]; /* the task for which an idle CPU was asked to dispatch */
	struct model_task task[POOL];
	struct {
		u32 parent, level;
		u32 joins; /* where its tasks are: a group of the eighth level, if it is deeper */
		u64 weight;
		bool full;
	} group[POOL];
};

static struct model model;

/* Whether it may run on all CPUs. */
static bool model_is_free(const struct model_task *t)
{
	for (u32 cpu = 0; t->pinned && cpu < model.ncpus; cpu++)
		if (!(t->allowed[cpu / 64] >> (cpu % 64) & 1))
			return false;
	return true;
}

/* Whether the machine keeps it from the policy: of a policy that shares by weight and has no keys, a task that may not run everywhere */
static bool model_is_apart(const struct model_task *t)
{
	return model.keeps_apart && !model_is_free(t);
}

#define MUST(condition, ...) ((condition) ? (void)0 : model_fail(__LINE__, #condition, __VA_ARGS__))

static _Noreturn void model_fail(int line, const char *condition, const char *what, u32 id)
{
	fprintf(stderr, "fuzz: %s: not so at event %llu, time %llu ns, task or CPU %u: %s (fuzz_model.h:%d)\n", what,
		model.events, model.now, id, condition, line);
	abort();
}

static struct model_task *model_task(u32 id)
{
	MUST(id > 0 && id < POOL, "an id out of range", id);
	return &model.task[id];
}

/* Service received until now */
static u64 model_received(const struct model_task *t)
{
	return t->received + (t->on ? model.now - t->since : 0);
}

/* Whether it has its slice on a CPU; a parked task has its slice by the policy alone. */
static bool model_has_cpu(u32 id)
{
	for (u32 cpu = 0; cpu < model.ncpus; cpu++)
		if (model.slice_of[cpu] == id)
			return true;
	return false;
}

/* The contract: service is charged before the calls that it can change. */
static void model_must_be_charged(u32 id)
{
	const struct model_task *t = model_task(id);

	MUST(model_is_apart(t) || !t->on || !model_has_cpu(id) || t->charged >= model_received(t),
	     "service not charged in time", id);
}

#endif
