/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stride: stride scheduling. Each client's pass advances by its stride, which is inverse to its tickets, for
 * each quantum that it runs. The client with the least pass runs.
 *
 * Waldspurger, Weihl: "Stride Scheduling: Deterministic Proportional-Share Resource Management", MIT Laboratory
 * for Computer Science, TM-528 (1995): papers/stride.md.
 * Not taken: the hierarchical variant (stride D2).
 */
#include "../policy.h"
#include "../lib/heap.h"
#include "../lib/vtime.h"
#include "../lib/wide.h"

#define POLICY_TITLE "stride scheduling: the least ahead after its quantum runs"
#define POLICY_BASELINE
#define POLICY_HAS CHARGE | REWEIGH | PEEK | KEY | SHIFT

#define POLICY_SHOWS(V) V("pass", "ns of a nice-0 task", task_of(s, id)->pass.v)

/* A client may be this far ahead of or behind the global pass, so that passes compare by signed difference. */
#define STRIDE_REMAIN_MAX (1ull << 60)

struct stride_task {
	struct vtime pass; /* where it will be after its next quantum, ns of a nice-0 task */
	u64 remain;        /* pass - global_pass when it left, two's complement, ns of a nice-0 task */
	u64 tickets;       /* the weight at which remain was measured */
};

struct stride {
	POLICY_STATE;
	struct vtime global_pass; /* service over global_tickets, ns of a nice-0 task */
	u64 global_tickets;       /* sum of the weights of all runnable tasks */
	struct heap waiting;      /* by pass */
	TASKS(stride_task);
};

static inline void stride_change_tickets(struct stride *s, u64 tickets)
{
	s->global_tickets = tickets;
	vtime_reweigh(&s->global_pass);
}

/* remain' = remain stride'/stride = remain tickets/tickets', rounded towards 0 (stride R4) */
static inline u64 stride_scale(struct stride *s, u64 remain, u64 tickets, u64 tickets2)
{
	bool behind = remain >> 63;
	u64 size = wide_mul_div(&s->division, behind ? -remain : remain, tickets, tickets2);

	if (size > STRIDE_REMAIN_MAX)
		size = STRIDE_REMAIN_MAX;
	return behind ? -size : size;
}

/* A newcomer's pass is one stride ahead, so that it counts the quantum to come (stride R1). */
static inline struct vtime stride_first_pass(const struct stride *s, u32 id)
{
	struct vtime pass = { .v = s->global_pass.v };

	vtime_advance(&pass, s->tasks.quantum, weight_of(&s->tasks, id));
	return pass;
}

/* pass = global_pass + remain, with remain as when it left, or scaled to its new weight (stride R3, R4) */
static inline struct vtime stride_pass_after(struct stride *s, const struct stride_task *t, u64 w)
{
	return (struct vtime){ .v = s->global_pass.v + stride_scale(s, t->remain, t->tickets, w) };
}

static inline void stride_join(struct stride *s, u32 id, u64 now, enum why why)
{
	struct stride_task *t = task_of(s, id);
	u64 w = weight_of(&s->tasks, id);

	if (why == NEW)
		t->pass = stride_first_pass(s, id);
	else
		t->pass = stride_pass_after(s, t, w);
	stride_change_tickets(s, s->global_tickets + w);
	heap_insert(&s->waiting, id, t->pass.v);
}

/* remain = pass - global_pass (stride R3) */
static inline void stride_measure(struct stride *s, u32 id)
{
	struct stride_task *t = task_of(s, id);

	t->remain = t->pass.v - s->global_pass.v;
	t->tickets = weight_of(&s->tasks, id);
}

static inline void stride_leave(struct stride *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
	stride_measure(s, id);
	stride_change_tickets(s, s->global_tickets - task_of(s, id)->tickets);
}

/* The client with the least pass runs; equal ones run in the order in which they began to wait (stride R5). */
static inline u32 stride_peek(struct stride *s, u32 cpu, u64 now)
{
	return heap_first(&s->waiting);
}

static inline void stride_take(struct stride *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

/* pass += stride used/quantum, global_pass += used/global_tickets (stride R2) */
static inline void stride_charge(struct stride *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(&task_of(s, id)->pass, ran, weight_of(&s->tasks, id));
	vtime_advance(&s->global_pass, ran, s->global_tickets);
}

static inline void stride_stop(struct stride *s, u32 id, u64 now, enum why why)
{
	heap_insert(&s->waiting, id, task_of(s, id)->pass.v);
}

static inline void stride_reweigh(struct stride *s, u32 id, u64 w, u64 now)
{
	struct stride_task *t = task_of(s, id);

	stride_measure(s, id);
	t->pass = stride_pass_after(s, t, w);
	stride_change_tickets(s, s->global_tickets - t->tickets + w);
	heap_rekey(&s->waiting, id, t->pass.v);
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline u64 stride_key(struct stride *s, u32 id)
{
	return task_of(s, id)->pass.v;
}

static inline void stride_detach(struct stride *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

static inline void stride_attach(struct stride *s, u32 id, u64 by)
{
	task_of(s, id)->pass.v += by;
	vtime_advance(&s->global_pass, vtime_service(by, weight_of(&s->tasks, id)), s->global_tickets);
}
