/* SPDX-License-Identifier: GPL-2.0-only */
/* eevdf: its parameters, and what it keeps of tasks. */
#ifndef DIVVY_EEVDF_STATE_H
#define DIVVY_EEVDF_STATE_H

#include "../../policy.h"

#define TREE_BY_MINOR 0 /* equal deadlines are in the order in which tasks were queued, as in Linux (eevdf R3) */
#include "../../lib/eligible.h"
#include "../../lib/mean.h"
#include "../../lib/vtime.h"
#include "../../lib/wide.h"

#define POLICY_PARAMS(P) \
	P(slice, TIME, "", 0, 0, 10000 * MS, \
	  "request of each task; 0: Linux's, 0.7 ms on one CPU and 2.8 ms from 8 on") \
	P(parity, SWITCH, "", 1, 0, 1, \
	  "RUN_TO_PARITY: a turn is not preempted before its deadline while it is eligible") \
	P(lag, SWITCH, "", 1, 0, 1, "PLACE_LAG: a woken task has the lag with which it left") \
	P(delay, SWITCH, "", 1, 0, 1, "DELAY_DEQUEUE: a sleeper that had too much is counted until it is eligible") \
	P(initial, SWITCH, "", 1, 0, 1, "PLACE_DEADLINE_INITIAL: a new task's first request is half as long")

#define EEVDF_TICK MS          /* Linux's, at 1000 Hz */
#define EEVDF_FAR (1ull << 60) /* virtual times stay this close, so that their order is defined */

struct eevdf_task {
	struct vtime v; /* virtual runtime: service over weight, ns of a nice-0 task */
	u64 d;          /* virtual deadline */
	u64 parity;     /* d when it was picked */
	u64 lag;        /* V - v when it left, signed */
	u64 w;          /* the weight that V, lag and d take it to have */
	bool delayed;   /* asleep, and still counted */
};

struct eevdf {
	POLICY_STATE;
	u64 scale;               /* 1 + log2 CPUs, from 8 CPUs on as for 8 */
	struct mean V;           /* of runnable and delayed tasks */
	struct eligible waiting; /* and delayed: v is the start, d the finish */
	u32 best;                /* what the search found */
	u32 asks;                /* the task that woke, and is compared with one CPU's task after the other */
	TASKS(eevdf_task);
};

#endif
