/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Entitled service of each task: the service that it would have received from a fluid machine, which serves all
 * runnable tasks at once, in the ratio of their effective weights, none with more than one CPU. For a host that
 * shows it while tasks run, in O(1) an event; the simulator has a model of its own, which knows the weights that
 * are infeasible (sim/src/entitlement/).
 *
 *   V(t)  service of a task of weight 1 while more tasks than CPUs are runnable:  dV = P dt / sum of weights
 *   U(t)  time in which there was a CPU for each:                                 dU = dt
 *   entitled = weight * dV + dU, settled when the weight changes, when the task blocks, and when a host asks. Within 2^48 ns of service, 78
 *   hours, one of these must come
 *
 * Besides roundings, each by less than weight / 2^15 ns + 1 ns: when it is settled, and when the total changes.
 * Exact on one CPU, and on more as long as no weight is infeasible: +feasible sees to that, except while a policy with lazy
 * removal keeps tasks that are blocked, whose weights count for feasible and not here.
 */
#ifndef DIVVY_ENTITLED_H
#define DIVVY_ENTITLED_H

#include "policy.h"

#define ENTITLED_SHIFT 16

struct entitled {
	u64 V;     /* 2^-16 ns, for a weight of 1 in the machine's fixed point */
	u64 rest;  /* of the last division for V */
	u64 U;     /* ns */
	u64 total; /* sum of the effective weights of runnable tasks */
	u64 then;  /* until when V and U are computed */
};

static inline void entitled_advance(struct entitled *e, const struct task_table *f, u64 now)
{
	u64 dt = now - e->then, rest, fluid, quotient;

	e->then = now;
	if (f->nrunnable <= f->ncpus) {
		e->U += dt;
		return;
	}
	/* The rest of the last division is less than one of V, at any total. */
	rest = e->rest < e->total ? e->rest : e->total - 1;
	fluid = ((dt * f->ncpus) << ENTITLED_SHIFT) + rest;
	quotient = fluid / e->total;
	e->V += quotient;
	e->rest = fluid - quotient * e->total; /* cheaper in BPF than a second division */
}

/* From here on it is entitled. */
static inline void entitled_from(const struct entitled *e, struct task *t)
{
	t->entitled.V = e->V;
	t->entitled.U = e->U;
}

/* Rounded down, by less than weight / 2^16 ns */
static inline void entitled_settle(const struct entitled *e, struct task *t)
{
	u64 V = e->V - t->entitled.V, U = e->U - t->entitled.U;

	t->entitled.service += ((V * t->weight) >> ENTITLED_SHIFT) + U;
}

/* A runnable task's, until now */
static inline void entitled_touch(struct entitled *e, struct task_table *f, u32 id, u64 now)
{
	entitled_advance(e, f, now);
	entitled_settle(e, &f->task[id & POOL_MASK]);
	entitled_from(e, &f->task[id & POOL_MASK]);
}

/* Its weight is in the task table already. */
static inline void entitled_join(struct entitled *e, struct task_table *f, u32 id, u64 now)
{
	entitled_advance(e, f, now);
	e->total += weight_of(f, id);
	entitled_from(e, &f->task[id & POOL_MASK]);
}

/* Its next join says from where it is entitled. Until then it must not be touched. */
static inline void entitled_leave(struct entitled *e, struct task_table *f, u32 id, u64 now)
{
	entitled_advance(e, f, now);
	entitled_settle(e, &f->task[id & POOL_MASK]);
	e->total -= weight_of(f, id);
}

/* While the task table holds the old weight */
static inline void entitled_reweigh(struct entitled *e, struct task_table *f, u32 id, u64 w, u64 now)
{
	entitled_touch(e, f, id, now);
	e->total += w - weight_of(f, id);
}

#endif
