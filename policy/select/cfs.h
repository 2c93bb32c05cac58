/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cfs: the Completely Fair Scheduler. The least virtual runtime runs, for a part of a period that is as large
 * as its part of the weight.
 *
 * Linux 2.6.24 (kernel/sched_fair.c), as the process-fair paper describes it (section 2, Eq. 1 and 2), and with
 * modern=1 as Linux had it before 6.6: papers/cfs.md. There is one queue for all CPUs, or with percpu=1 a queue a CPU and
 * load balancing between them, as in 2.6.24's kernel/sched.c.
 * Not taken: child_runs_first (cfs D3), wakers, domains and caches (cfs D4).
 */
#include "../policy.h"
#include "../lib/tree.h"
#include "../lib/vtime.h"
#include "../lib/wide.h"

#define POLICY_TITLE "Completely Fair Scheduler: the least virtual runtime runs"
#define POLICY_HAS INIT | CHARGE | REWEIGH | SLICE | PREEMPTS

#define CFS_TIME_MAX (10000 * MS)

#define POLICY_BASELINE

#define POLICY_PARAMS(P) \
	P(latency, TIME, "", 0, 0, CFS_TIME_MAX, "period in which each task has a turn; 0: the kernel's, 20 ms on one CPU") \
	P(granularity, TIME, "", 0, 0, CFS_TIME_MAX, \
	  "with many tasks the period is this much a task; 0: the kernel's, 4 ms on one CPU") \
	P(wakeup, TIME, "", 0, 0, CFS_TIME_MAX, \
	  "how far behind a woken task must be to preempt; 0: the kernel's, 10 ms on one CPU") \
	P(modern, SWITCH, "", 0, 0, 1, "the kernel's are those before 6.6 (6, 0.75, 1 ms), and sleep earns half as much") \
	P(percpu, SWITCH, "", 0, 0, 1, "a queue a CPU, and balancing between them; counts when the policy starts") \
	P(balance, TIME, "", 64 * MS, 0, CFS_TIME_MAX, \
	  "with percpu: how often a busy CPU looks for a busier one, at most once a period; 0: only an idle one does")

#define POLICY_SHOWS(V) V("virtual runtime", "ns of a nice-0 task", task_of(s, id)->vruntime.v)

struct cfs_task {
	struct vtime vruntime; /* service over weight, ns of a nice-0 task */
	u32 queue;
	bool fresh;            /* it joined as new */
};

struct cfs_queue {
	u64 load;         /* sum of the weights of its runnable tasks */
	u64 min_vruntime; /* the least vruntime of these; never decreases */
	u64 balanced;     /* when it last looked for a busier one, ns */
	u32 n;            /* runnable tasks */
	u32 first;        /* of those who wait the one with the least vruntime, or 0 */
};

struct cfs {
	POLICY_STATE;
	u64 scale;           /* 1 + log2 CPUs: how much the kernel's times grow with the machine */
	u64 modern_scale;    /* the same, from 8 CPUs on as for 8 */
	u32 queues;          /* 1, or as many as CPUs */
	u32 cpus;            /* of a queue: all, or 1 */
	u64 load;            /* of all queues */
	struct tree waiting; /* by queue and vruntime, equal ones in the order in which they began to wait (cfs R1) */
	u64 turns;           /* how many began to wait */
	u64 least;           /* scratch, as all below */
	u64 imbalance;       /* weight that is still to be pulled */
	u32 found;           /* a queue */
	struct tree_node after;
	struct cfs_queue queue[MAX_CPUS];
	TASKS(cfs_task);
};

static inline struct cfs_queue *cfs_queue(struct cfs *s, u32 queue)
{
	return &s->queue[queue & CPU_MASK];
}

static inline struct cfs_queue *cfs_queue_of(struct cfs *s, u32 id)
{
	return cfs_queue(s, task_of(s, id)->queue);
}

static inline u32 cfs_queue_at(const struct cfs *s, u32 cpu)
{
	return s->queues > 1 ? cpu : 0;
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
static inline u64 cfs_period(const struct cfs *s, const struct cfs_queue *q)
{
	u64 latency = cfs_latency(s);
	u64 stretched = q->n * cfs_granularity(s) / s->cpus;

	return stretched > latency ? stretched : latency;
}

/* slice = period w / (W/P), at most the period, rounded down, at least 1 ns (cfs R4; Eq. 1) */
static inline u64 cfs_part(struct cfs *s, const struct cfs_queue *q, u64 w)
{
	u64 demand = w * s->cpus, period = cfs_period(s, q);
	u64 slice = demand < q->load ? wide_mul_div(&s->division, period, demand, q->load) : period;

	return slice ? slice : 1;
}

/* vslice = period / (W/P + w), of a new task, which is in W already (cfs R6) */
static inline u64 cfs_debit(struct cfs *s, const struct cfs_queue *q, u64 w)
{
	u64 others = q->load - w;

	return wide_mul_div(&s->division, cfs_period(s, q), WEIGHT_NICE_0 * s->cpus, others + w * s->cpus);
}

/* ---- min_vruntime (cfs R5) ---- */

/* vruntime now, with what a running task received and was not charged */
static inline u64 cfs_vruntime(struct cfs *s, u32 id, u64 now)
{
	struct vtime v = task_of(s, id)->vruntime;

	vtime_advance(&v, uncharged(&s->tasks, id, now), weight_of(&s->tasks, id));
	return v.v;
}

/* Lowers `least` to the least vruntime of a queue's running tasks. */
static NOINLINE void cfs_least_running(struct cfs *s, u32 queue, u64 now)
{
	u32 cpu = queue + s->tasks.zero, end = queue + s->cpus;

	while (cpu < end && can_loop) {
		u32 id = s->tasks.picked[cpu & CPU_MASK];

		if (id && task_of(s, id)->queue == queue && vtime_before(cfs_vruntime(s, id, now), s->least))
			s->least = cfs_vruntime(s, id, now);
		cpu++;
	}
}

/* The kernel does this all the time. Between two joins the least never decreases, so once before each is enough. */
static inline void cfs_update_min_vruntime(struct cfs *s, u32 queue, u64 now)
{
	struct cfs_queue *q = cfs_queue(s, queue);
	u64 none = q->min_vruntime + (1ull << 62);

	s->least = q->first ? task_of(s, q->first)->vruntime.v : none;
	cfs_least_running(s, queue, now);
	if (s->least != none)
		q->min_vruntime = vtime_max(q->min_vruntime, s->least);
}

/* ---- queues ---- */

/* An odd one, so that there are keys between those of two queues */
static inline u64 cfs_major(u32 queue)
{
	return 2ull * queue + 1;
}

static inline void cfs_wait(struct cfs *s, u32 id)
{
	struct cfs_task *t = task_of(s, id);
	struct cfs_queue *q = cfs_queue(s, t->queue);

	tree_insert(&s->waiting, id, cfs_major(t->queue), t->vruntime.v, s->turns++);
	if (!q->first || vtime_before(t->vruntime.v, task_of(s, q->first)->vruntime.v))
		q->first = id;
}

/* The first of a queue behind the key `after`, or 0 */
static inline u32 cfs_next(struct cfs *s, u32 queue)
{
	u32 id = tree_after(&s->waiting, &s->after);

	return task_of(s, id)->queue == queue ? id : 0;
}

/* It waits no more, if it did. */
static inline void cfs_take(struct cfs *s, u32 id)
{
	u32 queue = task_of(s, id)->queue;

	s->after = *tree_node(&s->waiting, id);
	tree_remove(&s->waiting, id);
	if (cfs_queue(s, queue)->first == id)
		cfs_queue(s, queue)->first = cfs_next(s, queue);
}

static inline void cfs_enter(struct cfs *s, u32 id, u32 queue)
{
	struct cfs_queue *q = cfs_queue(s, queue);
	u64 w = weight_of(&s->tasks, id);

	task_of(s, id)->queue = queue;
	q->n++;
	q->load += w;
	s->load += w;
}

static inline void cfs_exit(struct cfs *s, u32 id)
{
	struct cfs_queue *q = cfs_queue_of(s, id);
	u64 w = weight_of(&s->tasks, id);

	q->n--;
	q->load -= w;
	s->load -= w;
	if (!q->n)
		q->min_vruntime = vtime_max(q->min_vruntime, task_of(s, id)->vruntime.v);
}

/* vruntime - min_vruntime here + min_vruntime there: it is as far ahead in the other queue (cfs R12). */
static inline u64 cfs_relative(struct cfs *s, u32 id, u32 queue)
{
	return task_of(s, id)->vruntime.v - cfs_queue_of(s, id)->min_vruntime + cfs_queue(s, queue)->min_vruntime;
}

/* A runnable task that does not wait goes to another queue. */
static inline void cfs_move(struct cfs *s, u32 id, u32 queue)
{
	u64 v = cfs_relative(s, id, queue);

	cfs_exit(s, id);
	task_of(s, id)->vruntime.v = v;
	cfs_enter(s, id, queue);
}

/* ---- where a task goes that joins (cfs R11) ---- */

/* The queue with the least load, into found */
static NOINLINE void cfs_find_idlest(struct cfs *s)
{
	u32 queue = s->found = s->tasks.zero;

	while (queue < s->queues && can_loop) {
		if (cfs_queue(s, queue)->load < cfs_queue(s, s->found)->load)
			s->found = queue;
		queue++;
	}
}

/* New: the least load. Woken: where it ran, or if that is busy and another has nothing, there. */
static inline u32 cfs_place(struct cfs *s, u32 id, bool fresh)
{
	u32 cpu = cpu_of(&s->tasks, id);
	u32 last = cpu < s->tasks.ncpus ? cfs_queue_at(s, cpu) : task_of(s, id)->queue;

	cfs_find_idlest(s);
	return fresh || (cfs_queue(s, last)->n && !cfs_queue(s, s->found)->n) ? s->found : last;
}

/* ---- balancing ---- */

/* The queue with the greatest load of the others in which somebody waits, into found; if there is none, the own one */
static NOINLINE void cfs_find_busiest(struct cfs *s, u32 own)
{
	u32 queue = s->tasks.zero;

	s->found = own;
	while (queue < s->queues && can_loop) {
		if (queue != own && cfs_queue(s, queue)->first &&
		    (s->found == own || cfs_queue(s, queue)->load > cfs_queue(s, s->found)->load))
			s->found = queue;
		queue++;
	}
}

/* How much weight is to be pulled: what the one has above the mean or the other below it, the lesser of these; if that is less
 * than a task, one, unless nice 0's weight more would be needed for that to be no worse (cfs R14). */
static inline u64 cfs_imbalance(const struct cfs *s, const struct cfs_queue *own, const struct cfs_queue *busiest)
{
	u64 mean = s->load / s->queues, task = busiest->load / busiest->n;
	u64 over = busiest->load - mean, under = mean - own->load;
	u64 most = over < under ? over : under;
	u64 tasks = own->n && task > own->load / own->n ? 1 : 2;

	if (own->load >= mean || busiest->load <= mean || 4 * busiest->load <= 5 * own->load)
		return 0;
	if (most >= task)
		return most;
	return busiest->load - own->load + WEIGHT_NICE_0 >= tasks * task ? task : 0;
}

static inline void cfs_pull_one(struct cfs *s, u32 id, u32 own)
{
	u64 w = weight_of(&s->tasks, id);

	s->imbalance -= w < s->imbalance ? w : s->imbalance;
	cfs_take(s, id);
	cfs_move(s, id, own);
	cfs_wait(s, id);
}

/* From the least vruntime on, each that weighs no more than twice what is left and nice 0's weight (cfs R14) */
static NOINLINE void cfs_pull(struct cfs *s, u32 own)
{
	s->after = (struct tree_node){ .major = cfs_major(s->found) - 1 };
	while (s->imbalance && can_loop) {
		u32 id = cfs_next(s, s->found);

		if (!id)
			return;
		s->after = *tree_node(&s->waiting, id);
		if (weight_of(&s->tasks, id) / 2 <= s->imbalance + WEIGHT_NICE_0)
			cfs_pull_one(s, id, own);
	}
}

/* Now and then, and whenever nobody waits here, which takes one task at least (cfs R13, R14) */
static inline void cfs_balance(struct cfs *s, u32 own, u64 now)
{
	struct cfs_queue *q = cfs_queue(s, own);
	u64 interval = s->param.balance, period = cfs_period(s, q);

	if (q->first && (!interval || now - q->balanced < (interval > period ? interval : period)))
		return;
	q->balanced = now;
	cfs_find_busiest(s, own);
	if (s->found == own)
		return;
	cfs_update_min_vruntime(s, s->found, now);
	cfs_update_min_vruntime(s, own, now);
	s->imbalance = cfs_imbalance(s, q, cfs_queue(s, s->found));
	cfs_pull(s, own);
	if (!q->first)
		cfs_pull_one(s, cfs_queue(s, s->found)->first, own);
}

/* ---- the contract ---- */

static inline void cfs_init(struct cfs *s)
{
	u32 log = 31 - __builtin_clz(s->tasks.ncpus | 1);

	s->scale = 1 + log;
	s->modern_scale = 1 + (log < 3 ? log : 3);
	s->queues = s->param.percpu ? s->tasks.ncpus : 1;
	s->cpus = s->tasks.ncpus / s->queues;
}

/* New: min_vruntime + vslice. Woken: max(own, min_vruntime - latency), half of it if modern (cfs R6). */
static inline void cfs_join(struct cfs *s, u32 id, u64 now, enum why why)
{
	struct cfs_task *t = task_of(s, id);
	u64 credit = cfs_latency(s) >> s->param.modern, v;
	u32 queue = cfs_place(s, id, why == NEW);
	struct cfs_queue *q = cfs_queue(s, queue);

	if (queue != t->queue)
		cfs_update_min_vruntime(s, t->queue, now);
	cfs_update_min_vruntime(s, queue, now);
	v = cfs_relative(s, id, queue);
	cfs_enter(s, id, queue);
	t->fresh = why == NEW;
	if (t->fresh)
		t->vruntime = (struct vtime){ .v = q->min_vruntime + cfs_debit(s, q, weight_of(&s->tasks, id)) };
	else if (vtime_before(v, q->min_vruntime - credit))
		t->vruntime = (struct vtime){ .v = q->min_vruntime - credit };
	else
		t->vruntime.v = v;
	cfs_wait(s, id);
}

static inline void cfs_leave(struct cfs *s, u32 id, u64 now, enum why why)
{
	cfs_take(s, id);
	cfs_exit(s, id);
}

/* The least vruntime (cfs R1) */
static inline u32 cfs_pick(struct cfs *s, u32 cpu, u64 now)
{
	u32 queue = cfs_queue_at(s, cpu), id;

	cfs_balance(s, queue, now);
	id = cfs_queue(s, queue)->first;
	if (id)
		cfs_take(s, id);
	return id;
}

/* vruntime += service / w (cfs R2; Eq. 2) */
static inline void cfs_charge(struct cfs *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(&task_of(s, id)->vruntime, ran, weight_of(&s->tasks, id));
}

/* However its turn ended: a yield is no more than that (cfs R9). Who was picked where it may not run and ran on another CPU
 * goes to that one's queue (cfs D4). */
static inline void cfs_stop(struct cfs *s, u32 id, u64 now, enum why why)
{
	u32 queue = cfs_queue_at(s, cpu_of(&s->tasks, id));

	if (task_of(s, id)->queue != queue) {
		cfs_update_min_vruntime(s, task_of(s, id)->queue, now);
		cfs_update_min_vruntime(s, queue, now);
		cfs_move(s, id, queue);
	}
	cfs_wait(s, id);
}

/* vruntime stays as it is (cfs R9). */
static inline void cfs_reweigh(struct cfs *s, u32 id, u64 w, u64 now)
{
	u64 more = w - weight_of(&s->tasks, id);

	cfs_queue_of(s, id)->load += more;
	s->load += more;
	vtime_reweigh(&task_of(s, id)->vruntime);
}

static inline u64 cfs_slice(struct cfs *s, u32 id)
{
	return cfs_part(s, cfs_queue_of(s, id), weight_of(&s->tasks, id));
}

/* A woken task preempts one that is ahead by more than the granularity over its weight; if modern, over the woken
 * one's weight (cfs R7). A new one makes the CPU choose again; if modern, it is as a woken one (cfs R8). That is, on the
 * CPUs of its queue. */
static inline bool cfs_preempts(struct cfs *s, u32 woken, u32 running, u64 now)
{
	u64 ahead = task_of(s, running)->vruntime.v;
	u64 w = weight_of(&s->tasks, s->param.modern ? woken : running);

	if (task_of(s, woken)->queue != task_of(s, running)->queue)
		return false;
	if (task_of(s, woken)->fresh && !s->param.modern)
		return vtime_before(task_of(s, cfs_queue_of(s, woken)->first)->vruntime.v, ahead);
	return vtime_before(task_of(s, woken)->vruntime.v + cfs_wakeup(s) * WEIGHT_NICE_0 / w, ahead);
}
