/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* sfs: its parameters, and what it keeps of tasks. */
#ifndef DIVVY_SFS_STATE_H
#define DIVVY_SFS_STATE_H

#include "../../policy.h"
#include "../../lib/heap.h"
#include "../../lib/tree.h"
#include "../../lib/vtime.h"

#define POLICY_PARAMS(P) \
	P(bias, INTEGER, "", 1, 1, 1024, \
	  "B: of this many least surpluses the first that last ran on the CPU is taken, else the least; 1 is pure fairness") \
	P(k, INTEGER, "", 0, 0, 1024, \
	  "heuristic: look only at the first k by weight, by start tag and by the surplus that was; 0 finds the least") \
	P(update, INTEGER, "decisions", 100, 1, 1000000, \
	  "with k: how often the surplus of all tasks is computed anew") \
	P(scale, INTEGER, "", 1, 1, 10000, "scaling factor: tags count this many parts of a ns of a nice-0 task")

/* The order in which tasks are to run */
struct sfs_rank {
	struct wide surplus; /* phi (S - v), or a bound of it */
	u64 turn;            /* equal ones in the order in which they began to wait */
};

struct sfs_task {
	u64 S;          /* start tag, ns of a nice-0 task: as when it was last given a CPU while it runs */
	struct vtime F; /* finish tag so far: S + service/phi */
};

struct sfs {
	POLICY_STATE;
	u64 v;                  /* virtual time: the least S of any runnable task */
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
	TASKS(sfs_task);
};

#endif
