/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cfs: the Completely Fair Scheduler. The least virtual runtime runs, for a part of a period that is as large
 * as its part of the weight.
 *
 * Linux 2.6.24 (kernel/sched_fair.c), as the process-fair paper describes it (section 2, Eq. 1 and 2), and with
 * modern=1 as Linux had it before 6.6: papers/cfs.md.
 * Not taken: a queue a CPU with load balancing between them (cfs D1), child_runs_first (cfs D3).
 */
#include "../policy.h"
#include "../lib/heap.h"
#include "../lib/vtime.h"
#include "../lib/wide.h"

#define CFS_TIME_MAX (10000 * MS)

#define POLICY_BASELINE

#define POLICY_PARAMS(P) \
	P(latency, TIME, "", 0, 0, CFS_TIME_MAX, "period in which each task has a turn; 0: the kernel's, 20 ms on one CPU") \
	P(granularity, TIME, "", 0, 0, CFS_TIME_MAX, \
	  "with many tasks the period is this much a task; 0: the kernel's, 4 ms on one CPU") \
	P(wakeup, TIME, "", 0, 0, CFS_TIME_MAX, \
	  "how far behind a woken task must be to preempt; 0: the kernel's, 10 ms on one CPU") \
	P(modern, SWITCH, "", 0, 0, 1, "the kernel's are those before 6.6 (6, 0.75, 1 ms), and sleep earns half as much")

#define POLICY_SHOWS(V) V("virtual runtime", "ns of a nice-0 task", cfs_task(s, id)->vruntime.v)

#define POLICY_ABOUT(A) \
	A(TITLE, "Completely Fair Scheduler: the least virtual runtime runs") \
	A(PAPER, "Linux 2.6.24; Wong, Tan, Kumari, Wey: Towards achieving fairness in the Linux scheduler, OSR 42(5), 2008, " \
		 "section 2") \
	A(GUARANTEE, "on one CPU, once each of the runnable tasks had a turn and until they change, two of them differ in " \
		     "service over weight by at most twice the period over the total weight") \
	A(GUARANTEE, "on several CPUs none when a weight asks for more than a CPU: use cfs+feasible") \
	A(COST, "O(log n), and O(CPUs) when a task wakes") \
	A(DEVIATION, "D1: one queue for all CPUs, each slice as if every CPU had its part of the tasks and of the weight") \
	A(DEVIATION, "D2: a slice is set when it begins and ends exactly, not at the first tick that finds it exceeded") \
	A(DEVIATION, "D3: a new task keeps its place: its parent is not known, so child_runs_first does not apply")

struct cfs_task {
	struct vtime vruntime; /* service over weight, ns of a nice-0 task */
	bool fresh;            /* it joined as new */
};

struct cfs {
	struct facts facts;
	PARAMS(POLICY_PARAMS)
	u64 scale;           /* 1 + log2 CPUs: how much the kernel's times grow with the machine */
	u64 modern_scale;    /* the same, from 8 CPUs on as for 8 */
	u64 load;            /* sum of the weights of runnable tasks */
	u64 min_vruntime;    /* the least vruntime of runnable tasks; never decreases */
	struct heap waiting; /* by vruntime, equal ones in the order in which they began to wait (cfs R1) */
	u64 least;           /* scratch of cfs_least_running */
	struct wide_division division;
	struct cfs_task task[POOL];
};

static inline struct cfs_task *cfs_task(struct cfs *s, u32 id)
{
	return &s->task[id & POOL_MASK];
}

/* ---- the kernel's times (cfs R10) ---- */

static inline u64 cfs_time(const struct cfs *s, s64 own, u64 then, u64 modern)
{
	if (own)
		return own;
	return s->param.modern ? modern * s->modern_scale : then * s->scale;
}

static inline u64 cfs_latency(const struct cfs *s)
{
	return cfs_time(s, s->param.latency, 20 * MS, 6 * MS);
}

static inline u64 cfs_granularity(const struct cfs *s)
{
	return cfs_time(s, s->param.granularity, 4 * MS, 3 * MS / 4);
}

static inline u64 cfs_wakeup(const struct cfs *s)
{
	return cfs_time(s, s->param.wakeup, 10 * MS, MS);
}

/* period = max(latency, nr granularity), with nr = n/P tasks a CPU (cfs R3) */
static inline u64 cfs_period(const struct cfs *s)
{
	u64 latency = cfs_latency(s);
	u64 stretched = s->facts.nrunnable * cfs_granularity(s) / s->facts.ncpus;

	return stretched > latency ? stretched : latency;
}

/* slice = period w / (W/P), at most the period, rounded down, at least 1 ns (cfs R4; Eq. 1) */
static inline u64 cfs_part(struct cfs *s, u64 period, u64 w)
{
	u64 demand = w * s->facts.ncpus;
	u64 slice = demand < s->load ? wide_mul_div(&s->division, period, demand, s->load) : period;

	return slice ? slice : 1;
}

/* vslice = period / (W/P + w), of a new task, which is in W already (cfs R6) */
static inline u64 cfs_debit(struct cfs *s, u64 w)
{
	u64 others = s->load - w;

	return wide_mul_div(&s->division, cfs_period(s), WEIGHT_NICE_0 * s->facts.ncpus, others + w * s->facts.ncpus);
}

/* ---- min_vruntime (cfs R5) ---- */

/* vruntime now, with what a running task received and was not charged */
static inline u64 cfs_vruntime(struct cfs *s, u32 id, u64 now)
{
	struct vtime v = cfs_task(s, id)->vruntime;

	vtime_advance(&v, uncharged(&s->facts, id, now), weight_of(&s->facts, id));
	return v.v;
}

/* Lowers `least` to the least vruntime of a running task. */
static NOINLINE void cfs_least_running(struct cfs *s, u64 now)
{
	u32 cpu = s->facts.zero;

	while (cpu < s->facts.ncpus && can_loop) {
		u32 id = s->facts.picked[cpu & CPU_MASK];

		if (id && vtime_before(cfs_vruntime(s, id, now), s->least))
			s->least = cfs_vruntime(s, id, now);
		cpu++;
	}
}

/* The kernel does this all the time. Between two joins the least never decreases, so once before each is enough. */
static inline void cfs_update_min_vruntime(struct cfs *s, u64 now)
{
	u64 none = s->min_vruntime + (1ull << 62);

	s->least = s->waiting.n ? heap_first_key(&s->waiting) : none;
	cfs_least_running(s, now);
	if (s->least != none)
		s->min_vruntime = vtime_max(s->min_vruntime, s->least);
}

/* ---- the contract ---- */

static inline void cfs_init(struct cfs *s)
{
	u32 log = 31 - __builtin_clz(s->facts.ncpus | 1);

	s->scale = 1 + log;
	s->modern_scale = 1 + (log < 3 ? log : 3);
}

/* New: min_vruntime + vslice. Woken: max(own, min_vruntime - latency), half of it if modern (cfs R6). */
static inline void cfs_join(struct cfs *s, u32 id, u64 now, enum why why)
{
	struct cfs_task *t = cfs_task(s, id);
	u64 w = weight_of(&s->facts, id);
	u64 credit = cfs_latency(s) >> s->param.modern;

	cfs_update_min_vruntime(s, now);
	s->load += w;
	t->fresh = why == NEW;
	if (t->fresh)
		t->vruntime = (struct vtime){ .v = s->min_vruntime + cfs_debit(s, w) };
	else if (vtime_before(t->vruntime.v, s->min_vruntime - credit))
		t->vruntime = (struct vtime){ .v = s->min_vruntime - credit };
	heap_insert(&s->waiting, id, t->vruntime.v);
}

static inline void cfs_leave(struct cfs *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
	s->load -= weight_of(&s->facts, id);
	if (s->facts.nrunnable == 1)
		s->min_vruntime = vtime_max(s->min_vruntime, cfs_task(s, id)->vruntime.v);
}

/* The least vruntime (cfs R1) */
static inline u32 cfs_pick(struct cfs *s, u32 cpu, u64 now)
{
	return heap_pop(&s->waiting);
}

/* vruntime += service / w (cfs R2; Eq. 2) */
static inline void cfs_charge(struct cfs *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(&cfs_task(s, id)->vruntime, ran, weight_of(&s->facts, id));
}

/* However its turn ended: a yield is no more than that (cfs R9). */
static inline void cfs_stop(struct cfs *s, u32 id, u64 now, enum why why)
{
	heap_insert(&s->waiting, id, cfs_task(s, id)->vruntime.v);
}

/* vruntime stays as it is (cfs R9). */
static inline void cfs_reweigh(struct cfs *s, u32 id, u64 w, u64 now)
{
	s->load += w - weight_of(&s->facts, id);
	vtime_reweigh(&cfs_task(s, id)->vruntime);
}

#define POLICY_SLICE
static inline u64 cfs_slice(struct cfs *s, u32 id)
{
	return cfs_part(s, cfs_period(s), weight_of(&s->facts, id));
}

/* A woken task preempts one that is ahead by more than the granularity over its weight; if modern, over the woken
 * one's weight (cfs R7). A new one makes the CPU choose again; if modern, it is as a woken one (cfs R8). */
#define POLICY_PREEMPTS
static inline bool cfs_preempts(struct cfs *s, u32 woken, u32 running, u64 now)
{
	u64 ahead = cfs_task(s, running)->vruntime.v;
	u64 w = weight_of(&s->facts, s->param.modern ? woken : running);

	if (cfs_task(s, woken)->fresh && !s->param.modern)
		return vtime_before(heap_first_key(&s->waiting), ahead);
	return vtime_before(cfs_task(s, woken)->vruntime.v + cfs_wakeup(s) * WEIGHT_NICE_0 / w, ahead);
}
