/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The virtual time of the fluid system that fair queueing imitates (GPS): it advances by service over the weights of
 * those clients that are busy there. A client that was ahead of the fluid when it left is busy there for longer.
 */
#ifndef DIVVY_FLUID_H
#define DIVVY_FLUID_H

#include "heap.h"
#include "vtime.h"

struct fluid {
	struct vtime V;      /* ns of a nice-0 task */
	u64 w;               /* weights of who is busy in the fluid system */
	struct heap leaving; /* who is so there only, by where V will be when it ends */
	u64 weight[POOL];    /* of those */
	u64 ran;             /* service to be accounted for, ns */
	u32 leaves; /* who is first to leave by then, or 0; after a charge: who would be next, if there was no time for more */
	u32 left; /* how many did */
};

/* At one charge so many clients leave at most, because the caller holds a lock. If more would, V waits there for the next charge. */
#define FLUID_STEPS 64u

static inline void fluid_set_weights(struct fluid *f, u64 w)
{
	f->w = w;
	vtime_reweigh(&f->V);
}

static inline void fluid_forget(struct fluid *f, u32 id)
{
	heap_remove(&f->leaving, id);
	fluid_set_weights(f, f->w - f->weight[id & POOL_MASK]);
}

/* Until the end of f->ran, or up to where V is when the next one has left, into f->leaves; this takes (v - V) w, rounded up. */
static NOINLINE void fluid_step(struct fluid *f)
{
	struct vtime after = f->V;
	u64 v = heap_first_key(&f->leaving), needs;

	f->leaves = 0;
	if (f->w)
		vtime_advance(&after, f->ran, f->w);
	if (!f->leaving.n || vtime_before(after.v, v)) {
		f->V = after;
		f->ran = 0;
		return;
	}
	needs = vtime_before(f->V.v, v) ? ((v - f->V.v) * f->w - f->V.rest + WEIGHT_NICE_0 - 1) / WEIGHT_NICE_0 : 0;
	f->ran -= needs < f->ran ? needs : f->ran;
	f->V.v = vtime_max(f->V.v, v);
	f->leaves = heap_first(&f->leaving);
}

static NOINLINE void fluid_pass(struct fluid *f)
{
	f->left = 0;
	fluid_step(f);
	while (f->leaves && f->left < FLUID_STEPS && can_loop) {
		fluid_forget(f, f->leaves);
		f->left++;
		fluid_step(f);
	}
}

/* dV/dt = 1 / (weights of who is busy), with service for time */
static inline void fluid_serve(struct fluid *f, u64 ran)
{
	f->ran = ran < VTIME_RAN_MAX - f->ran ? f->ran + ran : VTIME_RAN_MAX;
	fluid_pass(f);
}

static inline void fluid_join(struct fluid *f, u32 id, u64 w)
{
	if (heap_holds(&f->leaving, id))
		fluid_forget(f, id);
	fluid_set_weights(f, f->w + w);
}

/* Its last finish tag is F. */
static inline void fluid_leave(struct fluid *f, u32 id, u64 F, u64 w)
{
	f->weight[id & POOL_MASK] = w;
	if (vtime_before(f->V.v, F))
		heap_insert(&f->leaving, id, F);
	else
		fluid_set_weights(f, f->w - w);
}

/* When nobody is runnable the fluid system has done as much, and a new busy period begins where V would then be. Those that one event
 * has no time for stay busy. */
static NOINLINE void fluid_drain(struct fluid *f)
{
	if (f->leaves)
		return;
	for (f->left = 0; f->leaving.n && f->left < FLUID_STEPS && can_loop; f->left++) {
		f->V.v = heap_first_key(&f->leaving);
		fluid_forget(f, heap_first(&f->leaving));
	}
}

#endif
