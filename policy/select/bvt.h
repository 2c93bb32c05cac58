/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bvt: borrowed virtual time. The thread with the least effective virtual time runs: service over weight, less the
 * time that a thread may borrow from its own future when it has to be quick.
 *
 * Duda, Cheriton: "Borrowed-Virtual-Time (BVT) Scheduling: Supporting Latency-Sensitive Threads in a General-Purpose
 * Scheduler" (SOSP 1999): papers/bvt.md.
 */
#include "../policy.h"
#include "../lib/heap.h"
#include "../lib/vtime.h"
#include "../lib/wide.h"

#define POLICY_TITLE "borrowed virtual time: least service over weight, with borrowing"
#define POLICY_HAS CHARGE | REWEIGH | SLICE | PREEMPTS | FORK | OVERDRAWN | VIRTUAL_TIME | PEEK | KEY | SHIFT

#define BVT_TIME_MAX (10000 * MS)

#define POLICY_BASELINE

#define POLICY_PARAMS(P) \
	P(allowance, TIME, "", 0, 0, BVT_TIME_MAX, "C, the least time between switches; 0: a quantum") \
	P(warp, TIME, "", 0, 0, BVT_TIME_MAX, "W, virtual time that a woken thread borrows, in ns of a nice-0 task") \
	P(limit, TIME, "", 0, 0, BVT_TIME_MAX, "L, how long a thread may run warped; 0: for ever") \
	P(unwarp, TIME, "", 0, 0, BVT_TIME_MAX, "U, how long after that it may not warp") \
	P(debit, SWITCH, "", 1, 0, 1, \
	  "a forked thread begins where its parent is, and owes a quantum; off: as published, at SVT")

#define POLICY_LOOKS_AHEAD 1
#define POLICY_LONGEST_SLICE(s) \
	((u64)(s)->param.allowance > (s)->tasks.quantum ? (u64)(s)->param.allowance : (s)->tasks.quantum)

#define POLICY_SHOWS(V) \
	V("actual virtual time", "ns of a nice-0 task", task_of(s, id)->A.v) \
	V("effective virtual time", "ns of a nice-0 task", bvt_E(s, id))

struct bvt_thread {
	struct vtime A;   /* actual virtual time, ns of a nice-0 task */
	u64 warp_left;    /* ns that it may run warped; 0: it is not warped */
	u64 warped_until; /* when L ended its last warp, ns */
};

struct bvt {
	POLICY_STATE;
	u64 SVT;             /* scheduler virtual time: the least A of a runnable thread; never decreases */
	struct heap all;     /* runnable threads by A */
	struct heap waiting; /* waiting threads by E */
	u32 last[MAX_CPUS];  /* the thread whose slice on that CPU has just ended, unless it yielded */
	TASKS(bvt_thread);
};

/* E = A - (warp ? W : 0) (bvt R1) */
static inline u64 bvt_E(struct bvt *s, u32 id)
{
	struct bvt_thread *t = task_of(s, id);

	return t->A.v - (t->warp_left ? s->param.warp : 0);
}

static inline u64 bvt_C(const struct bvt *s)
{
	return s->param.allowance ? s->param.allowance : s->tasks.quantum;
}

/* How far a thread of weight w gets in C */
static inline u64 bvt_C_over(const struct bvt *s, u64 w)
{
	return bvt_C(s) * WEIGHT_NICE_0 / w;
}

/* ---- threads come and go ---- */

static inline void bvt_advance(struct bvt *s)
{
	if (s->all.n)
		s->SVT = vtime_max(s->SVT, heap_first_key(&s->all));
}

/* A thread that wakes warps, unless L ended its last warp less than U ago (bvt R4). */
static inline void bvt_warp(struct bvt *s, struct bvt_thread *t, u64 now)
{
	if (s->param.warp && now - t->warped_until >= s->param.unwarp)
		t->warp_left = s->param.limit ? s->param.limit : BVT_TIME_MAX;
}

/* A child begins where its parent's slice began, a new thread without a parent at SVT (bvt R6). */
static inline void bvt_fork(struct bvt *s, u32 id, u32 parent, u64 now)
{
	bool owes = parent && s->param.debit;
	u64 began = owes ? vtime_of_child(task_of(s, parent)->A, &s->tasks, parent) : s->SVT;

	*task_of(s, id) = (struct bvt_thread){ .A.v = began };
}

/* Where C is longer than a quantum, a thread's first slice may be, and a child that succeeds nobody owes so much (bvt R6). */
static inline u64 bvt_debit(const struct bvt *s, u32 id)
{
	u64 debit = s->param.debit ? debit_of(&s->tasks, id) : 0;

	return debit == s->tasks.quantum && bvt_C(s) > debit ? bvt_C(s) : debit;
}

/* As far as its A is ahead of SVT: with a long C that is more than a slice (bvt R6). */
static inline u64 bvt_overdrawn(struct bvt *s, u32 id)
{
	bvt_advance(s);
	return vtime_lead(task_of(s, id)->A.v, s->SVT, weight_of(&s->tasks, id));
}

static inline u64 bvt_virtual_time(const struct bvt *s)
{
	return s->SVT;
}

/* A = max(A, SVT): a sleeper keeps no claim on the time that it slept (bvt R2). If its program or group is ahead, it begins later (procfair R4). */
static inline void bvt_join(struct bvt *s, u32 id, u64 now, enum why why)
{
	struct bvt_thread *t = task_of(s, id);

	vtime_raise(&t->A, s->SVT + ahead_of(&s->tasks, id));
	bvt_advance(s);
	vtime_raise(&t->A, s->SVT);
	if (why == NEW)
		vtime_advance(&t->A, bvt_debit(s, id), weight_of(&s->tasks, id));
	else
		bvt_warp(s, t, now);
	heap_insert(&s->all, id, t->A.v);
	heap_insert(&s->waiting, id, bvt_E(s, id));
}

static inline void bvt_leave(struct bvt *s, u32 id, u64 now, enum why why)
{
	bvt_advance(s);
	heap_remove(&s->waiting, id);
	heap_remove(&s->all, id);
	if (!s->all.n)
		s->SVT = vtime_max(s->SVT, task_of(s, id)->A.v);
}

/* ---- selection ---- */

/* A thread that ran goes on until its E is C ahead of the least E (bvt R3). */
static inline bool bvt_goes_on(struct bvt *s, u32 id)
{
	u64 next = heap_first_key(&s->waiting), C = bvt_C_over(s, weight_of(&s->tasks, id));

	return heap_holds(&s->waiting, id) && vtime_before(bvt_E(s, id), next + C);
}

/* The thread with the least E runs; equal ones run in the order in which they began to wait (bvt R1). */
static inline u32 bvt_peek(struct bvt *s, u32 cpu, u64 now)
{
	u32 id = s->last[cpu & CPU_MASK];

	s->last[cpu & CPU_MASK] = 0;
	return id && bvt_goes_on(s, id) ? id : heap_first(&s->waiting);
}

static inline void bvt_take(struct bvt *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

/* A += ran/w (bvt R1); after L the warp is over (bvt R4). */
static inline void bvt_charge(struct bvt *s, u32 id, u64 ran, u64 now)
{
	struct bvt_thread *t = task_of(s, id);

	vtime_advance(&t->A, ran, weight_of(&s->tasks, id));
	heap_rekey(&s->all, id, t->A.v);
	if (!t->warp_left || !s->param.limit)
		return;
	t->warp_left = t->warp_left > ran ? t->warp_left - ran : 0;
	if (!t->warp_left)
		t->warped_until = now;
}

static inline void bvt_stop(struct bvt *s, u32 id, u64 now, enum why why)
{
	if (why != YIELDED)
		s->last[cpu_of(&s->tasks, id) & CPU_MASK] = id;
	heap_insert(&s->waiting, id, bvt_E(s, id));
}

static inline void bvt_reweigh(struct bvt *s, u32 id, u64 w, u64 now)
{
	vtime_reweigh(&task_of(s, id)->A);
}

/* (E_next - E) w + C, rounded down: then it is C ahead of the next (bvt R3). If nobody waits, C. What is more than 2C comes in parts of
 * C: a thread that wakes meanwhile, and preempts nobody, is the next from then on. */
static inline u64 bvt_slice(struct bvt *s, u32 id)
{
	u64 ahead = s->waiting.n ? heap_first_key(&s->waiting) - bvt_E(s, id) : 0;

	if ((s64)ahead < 0)
		ahead = 0;
	ahead = wide_mul_div(&s->division, ahead, weight_of(&s->tasks, id), WEIGHT_NICE_0);
	return (ahead <= bvt_C(s) ? ahead : 0) + bvt_C(s);
}

/* A running thread gives way if it is more than C ahead of one that woke (bvt R5). */
static inline bool bvt_preempts(struct bvt *s, u32 woken, u32 running, u64 now)
{
	return vtime_before(bvt_E(s, woken) + bvt_C_over(s, weight_of(&s->tasks, running)), bvt_E(s, running));
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline u64 bvt_key(struct bvt *s, u32 id)
{
	return bvt_E(s, id);
}

static inline void bvt_detach(struct bvt *s, u32 id)
{
	heap_remove(&s->waiting, id);
	heap_remove(&s->all, id);
}

static inline void bvt_attach(struct bvt *s, u32 id, u64 by)
{
	task_of(s, id)->A.v += by;
	heap_insert(&s->all, id, task_of(s, id)->A.v);
}
