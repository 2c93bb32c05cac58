/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * wf2q: worst-case fair weighted fair queueing. Among tasks whose next quantum has begun in a fluid model, the one
 * that would finish it first there runs.
 *
 * Bennett, Zhang: "WF2Q: Worst-case Fair Weighted Fair Queueing" (INFOCOM 1996): papers/wf2q.md.
 */
#include "../policy.h"
#include "../lib/eligible.h"
#include "../lib/fluid.h"
#include "../lib/vtime.h"

#define POLICY_TITLE "worst-case fair WFQ: the first to finish of those that have started"
#define POLICY_BASELINE
#define POLICY_HAS CHARGE | REWEIGH | PEEK | KEY | SHIFT

#define POLICY_SHOWS(V) V("start tag", "ns of a nice-0 task", task_of(s, id)->S.v)

struct wf2q {
	POLICY_STATE;
	struct fluid fluid;
	struct eligible waiting;
	TASKS({ struct vtime S; }); /* start tag of the next quantum: the finish tag of the service so far */
};

/* F = S + L/phi, with a quantum for the length L (wf2q R1) */
static inline void wf2q_enqueue(struct wf2q *s, u32 id, u64 phi)
{
	struct vtime S = task_of(s, id)->S;

	eligible_insert_in_turn(&s->waiting, id, S.v, vtime_after(S, s->tasks.quantum, phi), s->fluid.V.v);
}

/* S = max(F, V) (wf2q R2) */
static inline void wf2q_join(struct wf2q *s, u32 id, u64 now, enum why why)
{
	struct vtime *S = &task_of(s, id)->S;
	u64 phi = weight_of(&s->tasks, id);

	fluid_join(&s->fluid, id, phi);
	if (why == NEW || vtime_before(S->v, s->fluid.V.v))
		*S = (struct vtime){ .v = s->fluid.V.v };
	wf2q_enqueue(s, id, phi);
}

/* It is busy in the fluid model until V reaches its last finish tag (wf2q R3). */
static inline void wf2q_leave(struct wf2q *s, u32 id, u64 now, enum why why)
{
	eligible_remove(&s->waiting, id);
	fluid_leave(&s->fluid, id, task_of(s, id)->S.v, weight_of(&s->tasks, id));
	if (s->tasks.nrunnable == 1)
		fluid_drain(&s->fluid);
}

/* The task with the least F runs, among those with S <= V (wf2q R1). */
static inline u32 wf2q_peek(struct wf2q *s, u32 cpu, u64 now)
{
	return eligible_first(&s->waiting, s->fluid.V.v);
}

static inline void wf2q_take(struct wf2q *s, u32 id)
{
	eligible_remove(&s->waiting, id);
}

static inline void wf2q_charge(struct wf2q *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(&task_of(s, id)->S, ran, weight_of(&s->tasks, id));
	fluid_serve(&s->fluid, ran);
}

static inline void wf2q_stop(struct wf2q *s, u32 id, u64 now, enum why why)
{
	wf2q_enqueue(s, id, weight_of(&s->tasks, id));
}

/* The new weight counts from the start tag on (wf2q R4). */
static inline void wf2q_reweigh(struct wf2q *s, u32 id, u64 w, u64 now)
{
	fluid_set_weights(&s->fluid, s->fluid.w - weight_of(&s->tasks, id) + w);
	vtime_reweigh(&task_of(s, id)->S);
	if (!eligible_holds(&s->waiting, id))
		return;
	eligible_remove(&s->waiting, id);
	wf2q_enqueue(s, id, w);
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline u64 wf2q_key(struct wf2q *s, u32 id)
{
	return vtime_after(task_of(s, id)->S, s->tasks.quantum, weight_of(&s->tasks, id));
}

static inline void wf2q_detach(struct wf2q *s, u32 id)
{
	eligible_remove(&s->waiting, id);
}

static inline void wf2q_attach(struct wf2q *s, u32 id, u64 by)
{
	task_of(s, id)->S.v += by;
	fluid_serve(&s->fluid, vtime_service(by, weight_of(&s->tasks, id)));
}
