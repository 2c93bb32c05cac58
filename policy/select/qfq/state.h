/* SPDX-License-Identifier: GPL-2.0-only */
/* qfq: what it keeps of groups, flows and tasks. */
#ifndef DIVVY_QFQ_STATE_H
#define DIVVY_QFQ_STATE_H

#include "../../policy.h"
#include "../../lib/bits.h"
#include "../../lib/ring.h"
#include "../../lib/vtime.h"

#define POLICY_PARAMS(P) P(M, INTEGER, "tasks", 1, 1, 64, "tasks of an aggregate at most; Linux has 8")

#define QFQ_GROUPS 64u
#define QFQ_SLOTS 64u
#define QFQ_BEHIND 16
#define QFQ_AHEAD 32
#define QFQ_DEBT_MAX 1024u
#define QFQ_OPEN 256u

/* Sets of groups: eligible or not, ready or blocked. A blocked group is behind one of higher index with less F. */
enum qfq_state { ER, IR, EB, IB };

struct qfq_group {
	u64 S, F; /* rounded, of the front slot */
	u64 full; /* slots that are not empty, from the front one on */
	u32 front;
	u32 waiting; /* tasks of its flows that are not picked */
};

/* An aggregate of tasks of the same weight; with M = 1 it has one task. */
struct qfq_flow {
	struct vtime S; /* start tag of its next budget, ns of a nice-0 task */
	u64 phi;        /* weight of each task */
	u64 used;       /* ns of its budget, which is a quantum for each runnable task */
	u32 slot;       /* the slot of its group where it is */
	u32 group;
	u32 tasks;
	u32 n;         /* runnable tasks */
	u32 waiting;   /* those of them that are not picked */
	u32 head;      /* the runnable task whose visit it is */
	u32 served_by; /* 1 + the number of the CPU that serves it; 0: it is chosen by its tags */
	u32 unused;    /* the next free aggregate, when this one is free */
};

struct qfq_task {
	s64 D;    /* deficit: ns left of its visit */
	u32 flow; /* its aggregate, from its first turn on */
};

struct qfq {
	POLICY_STATE;
	struct vtime V;
	u64 seen;             /* V when groups were made eligible last */
	u64 Phi;              /* sum of the weights of the runnable tasks */
	u64 set[4];           /* of groups by state */
	u64 waiting;          /* groups with a waiting task */
	struct qfq_group was; /* scratch: the group before a change */
	u64 check;            /* scratch */
	u32 found;
	struct qfq_group group[QFQ_GROUPS];
	u32 first[QFQ_GROUPS * QFQ_SLOTS]; /* of each slot's flows, which are in the order in which they came */
	struct links slots;
	struct links heads;    /* runnable tasks of each flow, in a circle */
	u32 serving[MAX_CPUS]; /* for each CPU, the flow that it chose last */
	u32 free, made;        /* the first free flow; the number of flows that were ever made */
	u32 open[QFQ_OPEN];    /* by a hash of the weight: the flow that takes the next such task */
	struct qfq_flow flow[POOL];
	TASKS(qfq_task);
};

static inline struct qfq_group *qfq_group(struct qfq *s, u32 i)
{
	return &s->group[i % QFQ_GROUPS];
}

static inline struct qfq_flow *qfq_flow(struct qfq *s, u32 f)
{
	return &s->flow[f & POOL_MASK];
}

/* i = ceil(log2(L/phi)), the slots of group i are 2^i long (qfq R1). */
static inline u32 qfq_group_of(const struct qfq *s, u64 phi)
{
	u64 virtual = s->tasks.quantum * WEIGHT_NICE_0 / phi;

	return virtual > 1 ? (floor_log2(virtual - 1) + 1) % QFQ_GROUPS : 0;
}

static inline u64 qfq_round(u64 v, u32 i)
{
	return v >> (i & 63) << (i & 63);
}

static inline u64 qfq_bit(u32 i)
{
	return 1ull << (i & 63);
}

/* Groups of a higher index */
static inline u64 qfq_above(u32 i)
{
	return ~0ull << (i & 63) & ~qfq_bit(i);
}

#endif
