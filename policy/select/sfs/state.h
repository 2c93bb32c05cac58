/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* sfs: its parameters, and what it keeps of tasks. */
#ifndef DIVVY_SFS_STATE_H
#define DIVVY_SFS_STATE_H

#include "../../policy.h"
#include "../../lib/heap.h"
#include "../../lib/tag.h"
#define TREE_PARTS 1
#include "../../lib/tree.h"

#define POLICY_PARAMS(P) \
	P(bias, INTEGER, "", 1, 1, 1024, \
	  "B: of this many least surpluses the first that last ran on the CPU is taken, else the least; 1 is pure fairness") \
	P(k, INTEGER, "", 0, 0, 1024, \
	  "heuristic: look only at the first k by weight, by start tag and by the surplus that was; 0 finds the least") \
	P(update, INTEGER, "decisions", 100, 1, 1000000, \
	  "with k: how often the surplus of all tasks is computed anew") \
	P(scale, INTEGER, "", 1, 1, 10000, "scaling factor: tags count this many parts of a ns of a nice-0 task") \
	P(credit, TIME, "", 0, 0, 10000 * MS, \
	  "wake-up preemption: who wakes counts as having so much less surplus, and takes a CPU; 0 is none") \
	P(debit, SWITCH, "", 1, 0, 1, \
	  "a forked task begins where its parent is, and owes a quantum; off: as published, at v")

/* The order in which tasks are to run */
struct sfs_rank {
	struct wide surplus; /* phi (S - v), or a bound of it */
	u64 turn;            /* equal ones in the order in which they began to wait */
};

#define SFS_BEHIND (1ull << 63) /* in a turn: with credit, behind those that woke (sfs R9) */

struct sfs_task {
	struct tag S; /* start tag, ns of a nice-0 task: as when it was last given a CPU while it runs */
	struct tag F; /* finish tag so far, S + service/phi, without its remainder */
	u64 rest;     /* that remainder, in 1/phi */
};

struct sfs {
	POLICY_STATE;
	struct tag v;           /* virtual time: the least S of any runnable task */
	struct heap runnable;   /* by S, the running ones too */
	struct tree waiting;    /* those that do not run, by phi, equal ones by S */
	struct tree by_S;       /* the same, with k, by S */
	struct tree by_surplus; /* and by the surplus that they had */
	u64 turns;              /* that began to wait so far */
	u64 choices;            /* made since surpluses were computed anew */
	u32 least;              /* of the search: the task that is to run */
	struct sfs_rank rank;   /* its rank */
	struct sfs_rank after;  /* those up to this one are passed over */
	u32 choice;             /* of the B least */
	s64 tries;              /* of these: how many are left */
	s64 looks;              /* and tasks to look at in an order, with k */
	TASKS(sfs_task);
};

#endif
