/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * wfq: weighted fair queueing, or PGPS. The task that would finish its next quantum first in a fluid model runs.
 *
 * Demers, Keshav, Shenker: "Analysis and Simulation of a Fair Queueing Algorithm" (SIGCOMM 1989); Parekh, Gallager: "A
 * Generalized Processor Sharing Approach to Flow Control" (1993): papers/wfq.md.
 */
#include "../policy.h"
#include "../lib/fluid.h"
#include "../lib/heap.h"
#include "../lib/vtime.h"

#define POLICY_TITLE "weighted fair queueing: the first to finish in the fluid system"
#define POLICY_BASELINE
#define POLICY_HAS CHARGE | REWEIGH | PEEK | KEY | SHIFT

#define POLICY_SHOWS(V) V("start tag", "ns of a nice-0 task", task_of(s, id)->S.v)

struct wfq {
	POLICY_STATE;
	struct fluid fluid;
	struct heap waiting;        /* by F */
	TASKS({ struct vtime S; }); /* start tag of the next quantum: the finish tag of the service so far */
};

/* F = S + L/phi, with a quantum for the length L (wfq R1) */
static inline u64 wfq_F(struct wfq *s, u32 id, u64 phi)
{
	return vtime_after(task_of(s, id)->S, s->tasks.quantum, phi);
}

/* S = max(F, V) (wfq R2) */
static inline void wfq_join(struct wfq *s, u32 id, u64 now, enum why why)
{
	struct vtime *S = &task_of(s, id)->S;
	u64 phi = weight_of(&s->tasks, id);

	fluid_join(&s->fluid, id, phi);
	if (why == NEW || vtime_before(S->v, s->fluid.V.v))
		*S = (struct vtime){ .v = s->fluid.V.v };
	heap_insert(&s->waiting, id, wfq_F(s, id, phi));
}

/* It is busy in the fluid model until V reaches its last finish tag (wfq R3). */
static inline void wfq_leave(struct wfq *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
	fluid_leave(&s->fluid, id, task_of(s, id)->S.v, weight_of(&s->tasks, id));
	if (s->tasks.nrunnable == 1)
		fluid_drain(&s->fluid);
}

/* The task with the least F runs; equal ones run in the order in which they began to wait (wfq R1). */
static inline u32 wfq_peek(struct wfq *s, u32 cpu, u64 now)
{
	return heap_first(&s->waiting);
}

static inline void wfq_take(struct wfq *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

static inline void wfq_charge(struct wfq *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(&task_of(s, id)->S, ran, weight_of(&s->tasks, id));
	fluid_serve(&s->fluid, ran);
}

static inline void wfq_stop(struct wfq *s, u32 id, u64 now, enum why why)
{
	heap_insert(&s->waiting, id, wfq_F(s, id, weight_of(&s->tasks, id)));
}

/* The new weight counts from the start tag on (wfq R4). */
static inline void wfq_reweigh(struct wfq *s, u32 id, u64 w, u64 now)
{
	fluid_set_weights(&s->fluid, s->fluid.w - weight_of(&s->tasks, id) + w);
	vtime_reweigh(&task_of(s, id)->S);
	heap_rekey(&s->waiting, id, wfq_F(s, id, w));
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline u64 wfq_key(struct wfq *s, u32 id)
{
	return wfq_F(s, id, weight_of(&s->tasks, id));
}

static inline void wfq_detach(struct wfq *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

static inline void wfq_attach(struct wfq *s, u32 id, u64 by)
{
	task_of(s, id)->S.v += by;
	fluid_serve(&s->fluid, vtime_service(by, weight_of(&s->tasks, id)));
}
