/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of functions that policy/src/host.rs mirrors field by field. */
#ifndef DIVVY_HOST_H
#define DIVVY_HOST_H

#include "policy.h"

struct param {
	const char *name, *unit, *help;
	u32 kind;
	s64 dflt, min, max;
};

/* A value that a policy keeps of each task, POLICY_SHOWS */
struct shown {
	const char *name, *unit;
};

struct machine;
struct flow_program;
struct order;
struct host_turn;
struct event;
struct flow;
struct calls;

struct host {
	const char *name, *title;
	const struct param *params;
	u32 nparams;
	const char *simulator_only; /* why, or NULL */
	u32 is_baseline;
	u32 linear;    /* accesses to memory for each task that a decision may need; 0: it does not look at all */
	u32 modifiers; /* those that its algorithm includes */
	const struct shown *shown;
	u32 nshown;
	/* Rust has its own copy of these from event.h, and compares. */
	const char *const *events;
	u32 nevents, event_size, program_size;
	u32 max_cpus;
	u64 (*size)(u32 ncpus); /* bytes of a machine */
	u32 pool;               /* task ids are below this */

	/* On zeroed memory, in this order: prepare, set_param, init. */
	void (*prepare)(struct machine *m, u32 modifiers);
	void (*set_param)(struct machine *m, u32 modifier, u32 index, s64 value);
	void (*init)(struct machine *m, u32 ncpus, u64 quantum);

	void (*new)(struct machine *m, u32 id, u32 process, u64 weight, u64 now);
	void (*exit)(struct machine *m, u32 id, u64 now);
	/* runnable, enqueue -> the CPU that is to dispatch */
	u32 (*wake)(struct machine *m, u32 id, u64 now, u32 is_new);
	/* stopping, quiescent */
	void (*off)(struct machine *m, u32 id, u64 ran, u64 now, u32 exits);
	void (*quiescent)(struct machine *m, u32 id, u64 now, u32 exits);
	struct order (*dispatch)(struct machine *m, u32 cpu, u64 now);
	/* stopping, enqueue -> the CPU that is to dispatch */
	u32 (*requeue)(struct machine *m, u32 id, u64 ran, u64 now);
	void (*running)(struct machine *m, u32 id, u64 now);
	/* requeue for one task at `now`, then running for another at `from` -> the CPU that is to dispatch */
	u32 (*change)(struct machine *m, u32 id, u64 ran, u64 now, u32 next, u64 from);
	/* dispatch; then, if another task has the CPU than the one that ran there (0: none did), requeue of that and running of the other.
	 * Without limits only */
	struct host_turn (*turn)(struct machine *m, u32 cpu, u32 former, u64 ran, u64 now);
	void (*yield)(struct machine *m, u32 cpu);
	void (*set_weight)(struct machine *m, u32 id, u64 weight, u64 now);
	/* The first n words of the set; the others are empty */
	u32 (*set_allowed)(struct machine *m, u32 id, const u64 *words, u32 n, u64 now);
	/* Its program begins this much work, in ns; NULL if the policy is not clairvoyant */
	void (*bring)(struct machine *m, u32 id, u64 work);
	/* The functions of a policy that is not written in C, between prepare and init; and a fact of the task table for it
	 * (native/called.h). NULL for all others */
	void (*set_calls)(struct machine *m, const struct calls *calls, void *author);
	u64 (*fact)(const struct machine *m, u32 fact, u32 id, u64 now);
	/* Turns of a quantum each with nobody coming or going: `rounds` times all CPUs decide, the first first; who
	 * ran, into `ran`, round by round */
	void (*turns)(struct machine *m, u64 now, u64 rounds, u32 *ran);
	/* The same of tasks that have been runnable from the beginning, if nothing else is called afterwards: without the machine
	 * around the policy, where it has nothing to do */
	void (*turns_alone)(struct machine *m, u64 now, u64 rounds, u32 *ran);
	/* Any event, with all of its order left to the caller */
	void (*tell)(struct machine *m, u32 kind, struct event *e);

	/* A program as flow knows it, or NULL; and the first n entries of its sequence, which it has */
	const struct flow_program *(*program)(struct machine *m, u64 identity);
	void (*sequence)(struct machine *m, u64 identity, u64 *run, u64 *wait, u32 n);
	u64 (*weight)(const struct machine *m, u32 id);
	u32 (*group_parent)(const struct machine *m, u32 group);
	/* The value of a task that `shown` lists at this index; changes nothing */
	s64 (*show)(struct machine *m, u32 index, u32 id, u64 now);
	/* The tags of a task, which was made runnable and not enqueued, are `by` later, modulo 2^64 */
	void (*carry)(struct machine *m, u32 id, u64 by, u64 now);
	/* A task that is on no CPU goes to another machine: it is as if it blocked and was gone, but its program goes on. */
	void (*depart)(struct machine *m, u32 id, u64 now);
	/* ns that a task owes when it becomes runnable for the first time */
	u64 (*debit)(const struct machine *m, u32 id);
	/* The knowledge of programs; and that of another machine, which is used from now on */
	struct flow *(*flow)(struct machine *m);
	void (*share_flow)(struct machine *m, struct flow *flow);
	/* The account of weights answers a task whose weight changed, and was not answered since; 0 if there is none */
	u32 (*changed)(struct machine *m, u64 now);
	/* Limits of groups (limits.h): quota 0 lifts one; when a task that is held may run, ~0 if none is held; the next that may
	 * now, if any, and the CPU that is to dispatch; whether a task is held; how many are */
	void (*set_limit)(struct machine *m, u32 group, u64 quota, u64 period, u64 burst, u64 now);
	u64 (*due)(struct machine *m, u64 now);
	struct order (*release)(struct machine *m, u64 now);
	bool (*holds)(struct machine *m, u32 id);
	u32 (*held)(struct machine *m);
	u64 (*decisions)(const struct machine *m);
	u64 (*faults)(const struct machine *m);
};

/* A modifier's table, for `divvy policies` and the spec parser. */
struct modifier {
	const char *name, *title;
	const struct param *params;
	u32 nparams;
	u32 bit;
};

#endif
