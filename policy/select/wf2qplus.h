/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * wf2qplus: WF2Q+, which is WF2Q with a virtual time that needs no fluid model.
 *
 * Bennett, Zhang: "Hierarchical Packet Fair Queueing Algorithms" (SIGCOMM 1996): papers/wf2qplus.md.
 * Not taken: the hierarchy (wf2qplus D3).
 */
#include "../policy.h"
#include "../lib/eligible.h"
#include "../lib/vtime.h"

#define POLICY_TITLE "WF2Q+: as wf2q, with a simpler virtual time"
#define POLICY_BASELINE
#define POLICY_HAS CHARGE | REWEIGH | PEEK | KEY | SHIFT

#define POLICY_SHOWS(V) V("start tag", "ns of a nice-0 task", task_of(s, id)->S.v)

struct wf2qplus {
	POLICY_STATE;
	struct vtime V; /* ns of a nice-0 task */
	u64 Phi;        /* sum of the weights of the runnable tasks */
	struct eligible waiting;
	TASKS({ struct vtime S; }); /* start tag of the next quantum: the finish tag of the service so far */
};

static inline void wf2qplus_set_weights(struct wf2qplus *s, u64 Phi)
{
	s->Phi = Phi;
	vtime_reweigh(&s->V);
}

/* F = S + L/phi, with a quantum for the length L (wf2qplus R1) */
static inline void wf2qplus_enqueue(struct wf2qplus *s, u32 id, u64 phi)
{
	struct vtime S = task_of(s, id)->S;

	eligible_insert_in_turn(&s->waiting, id, S.v, vtime_after(S, s->tasks.quantum, phi), s->V.v);
}

/* S = max(F, V) (wf2qplus R2) */
static inline void wf2qplus_join(struct wf2qplus *s, u32 id, u64 now, enum why why)
{
	struct vtime *S = &task_of(s, id)->S;
	u64 phi = weight_of(&s->tasks, id);

	wf2qplus_set_weights(s, s->Phi + phi);
	if (why == NEW || vtime_before(S->v, s->V.v))
		*S = (struct vtime){ .v = s->V.v };
	wf2qplus_enqueue(s, id, phi);
}

static inline void wf2qplus_leave(struct wf2qplus *s, u32 id, u64 now, enum why why)
{
	eligible_remove(&s->waiting, id);
	wf2qplus_set_weights(s, s->Phi - weight_of(&s->tasks, id));
}

/* V = max(V, least S of the waiting tasks), before the choice: so a task is eligible (wf2qplus R3). */
static inline void wf2qplus_jump(struct wf2qplus *s)
{
	u32 earliest = eligible_earliest(&s->waiting);

	if (earliest)
		vtime_raise(&s->V, task_of(s, earliest)->S.v);
}

/* The task with the least F runs, among those with S <= V (wf2qplus R1). */
static inline u32 wf2qplus_peek(struct wf2qplus *s, u32 cpu, u64 now)
{
	wf2qplus_jump(s);
	return eligible_first(&s->waiting, s->V.v);
}

static inline void wf2qplus_take(struct wf2qplus *s, u32 id)
{
	eligible_remove(&s->waiting, id);
}

/* V += W/Phi for an amount of service W (wf2qplus R3) */
static inline void wf2qplus_charge(struct wf2qplus *s, u32 id, u64 ran, u64 now)
{
	vtime_advance(&task_of(s, id)->S, ran, weight_of(&s->tasks, id));
	vtime_advance(&s->V, ran, s->Phi);
}

static inline void wf2qplus_stop(struct wf2qplus *s, u32 id, u64 now, enum why why)
{
	wf2qplus_enqueue(s, id, weight_of(&s->tasks, id));
}

/* The new weight counts from the start tag on (wf2qplus R4). */
static inline void wf2qplus_reweigh(struct wf2qplus *s, u32 id, u64 w, u64 now)
{
	wf2qplus_set_weights(s, s->Phi - weight_of(&s->tasks, id) + w);
	vtime_reweigh(&task_of(s, id)->S);
	if (!eligible_holds(&s->waiting, id))
		return;
	eligible_remove(&s->waiting, id);
	wf2qplus_enqueue(s, id, w);
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline u64 wf2qplus_key(struct wf2qplus *s, u32 id)
{
	return vtime_after(task_of(s, id)->S, s->tasks.quantum, weight_of(&s->tasks, id));
}

static inline void wf2qplus_detach(struct wf2qplus *s, u32 id)
{
	eligible_remove(&s->waiting, id);
}

static inline void wf2qplus_attach(struct wf2qplus *s, u32 id, u64 by)
{
	task_of(s, id)->S.v += by;
	vtime_advance(&s->V, vtime_service(by, weight_of(&s->tasks, id)), s->Phi);
}
