/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A policy that passes every call on to the real one, FUZZ_POLICY, and checks both sides of the contract on the
 * way: the machine's calls, and the policy's answers.
 */
#ifndef DIVVY_FUZZ_SPY_H
#define DIVVY_FUZZ_SPY_H

#include POLICY_HEADER
#include "fuzz_model.h"

/* Defaults of the real policy */
#define DIVVY_POLICY FUZZ_POLICY
#include "defaults.h"
#undef DIVVY_POLICY

#if HAS(SHIFT)
#define SPY_SHIFTS 1
#else
#define SPY_SHIFTS 0
#endif

#define REAL(f) GLUE(FUZZ_POLICY, _##f)
#define DIVVY_POLICY spy

#if HAS(DISCARD)
#define SPY_REMOVES DISCARD
#else
#define SPY_REMOVES 0
#endif

/* Its task table and parameters are the real one's, which begins with them. */
struct spy {
	union {
		struct {
			POLICY_STATE;
		};
		struct FUZZ_POLICY real;
	};
};

static void spy_init(struct spy *s)
{
	REAL(init)(&s->real);
}

static void spy_join(struct spy *s, u32 id, u64 now, enum why why)
{
	struct model_task *t = model_task(id);

	MUST(t->seat == OUT && t->member, "joins twice", id);
	MUST(why == NEW || why == WOKEN, "joins for a wrong reason", id);
	t->seat = WAITS;
	t->told = weight_of(&s->tasks, id);
	REAL(join)(&s->real, id, now, why);
}

static void spy_leave(struct spy *s, u32 id, u64 now, enum why why)
{
	struct model_task *t = model_task(id);

	MUST(t->seat != OUT, "leaves and is not there", id);
	MUST(!t->aside || !SPY_SHIFTS, "leaves and is set aside", id);
	MUST(is_picked(&s->tasks, id) == (t->seat == HAS_SLICE), "leaves with a wrong is_picked", id);
	MUST(why == BLOCKED || why == EXITED, "leaves for a wrong reason", id);
	model_must_be_charged(id);
	REAL(leave)(&s->real, id, now, why);
	t->delayed = false;
	t->seat = OUT;
	if (!SPY_REMOVES && !t->moving)
		t->member = false;
}

/* The policy keeps it no more. */
static void spy_removed(u32 id)
{
	struct model_task *t = model_task(id);

	MUST(SPY_REMOVES && t->member && t->seat == OUT, "removed and not kept", id);
	t->member = t->moving && t->runnable;
}

static void spy_charge(struct spy *s, u32 id, u64 ran, u64 now)
{
	struct model_task *t = model_task(id);

	MUST(t->seat == HAS_SLICE && is_picked(&s->tasks, id), "charged outside of a slice", id);
	MUST(ran > 0, "charged nothing", id);
	t->charged += ran;
	t->turn += ran;
	REAL(charge)(&s->real, id, ran, now);
}

static void spy_stop(struct spy *s, u32 id, u64 now, enum why why)
{
	struct model_task *t = model_task(id);

	MUST(t->seat == HAS_SLICE, "stops and has no slice", id);
	MUST(why == EXPIRED || why == PREEMPTED || why == YIELDED, "stops for a wrong reason", id);
	model_must_be_charged(id);
	t->seat = WAITS;
	t->delayed = false;
	model.stops++;
	/* One that waited in its class, and may run everywhere now, comes back so as well: its slice ended before. */
	if (model_has_cpu(id))
		t->ended = model.now;
	REAL(stop)(&s->real, id, now, why);
}

static void spy_reweigh(struct spy *s, u32 id, u64 w, u64 now)
{
	struct model_task *t = model_task(id);

	MUST(t->member, "another weight and is not there", id);
	MUST(weight_of(&s->tasks, id) == t->told, "the task table holds another weight than the old one during reweigh",
	     id);
	MUST(w >= WEIGHT_MIN && w <= WEIGHT_MAX, "a weight out of range", id);
	model_must_be_charged(id);
	t->told = w;
	REAL(reweigh)(&s->real, id, w, now);
}

static u64 spy_slice(struct spy *s, u32 id)
{
	u64 ns = REAL(slice)(&s->real, id);

	MUST(model_task(id)->seat == HAS_SLICE, "asked for the length of a slice that it does not have", id);
	MUST(!model_task(id)->asked, "asked for the length of a slice that has begun", id);
	model_task(id)->asked = true;
	MUST(ns > 0, "an empty slice", id);
	return ns;
}

static void spy_fork(struct spy *s, u32 id, u32 parent, u64 now)
{
	MUST(model_task(id)->seat == OUT, "forked and runnable", id);
	if (parent)
		model_must_be_charged(parent);
	REAL(fork)(&s->real, id, parent, now);
}

static u64 spy_overdrawn(struct spy *s, u32 id)
{
	u64 ns = REAL(overdrawn)(&s->real, id);

	model_must_be_charged(id);
	model_task(id)->ahead = ns;
	model_task(id)->longest = POLICY_LONGEST_SLICE(&s->real);
	return ns;
}

#if HAS(VIRTUAL_TIME)
static u64 spy_virtual_time(struct spy *s)
{
	return REAL(virtual_time)(&s->real);
}
#define SPY_TIMES VIRTUAL_TIME
#else
#define SPY_TIMES 0
#endif

static void spy_gets_slice(u32 id)
{
	model_task(id)->seat = HAS_SLICE;
	model_task(id)->was_picked = true;
	model_task(id)->asked = false;
}

#if HAS(PEEK)
static u32 spy_peek(struct spy *s, u32 cpu, u64 now)
{
	u32 id = REAL(peek)(&s->real, cpu, now);

	MUST(cpu < model.ncpus, "asked for a CPU that does not exist", cpu);
	if (HAS(DROPS) && id == REMOVED)
		return id;
	MUST(!id || model_task(id)->seat == WAITS, "the policy names a task that does not wait", id);
	if (id)
		return id;
	for (id = 1; id < POOL; id++)
		MUST(model.task[id].seat != WAITS, "the policy names nobody while one waits", id);
	return 0;
}

static void spy_take(struct spy *s, u32 id)
{
	MUST(model_task(id)->seat == WAITS, "picked and does not wait", id);
	spy_gets_slice(id);
	REAL(take)(&s->real, id);
}

static void spy_before_peek(struct spy *s, u32 cpu, u64 now)
{
	REAL(before_peek)(&s->real, cpu, now);
}

#if HAS(KEY)
static u64 spy_key(struct spy *s, u32 id)
{
	MUST(model_task(id)->seat != OUT, "asked for the key of a task that is not there", id);
	return REAL(key)(&s->real, id);
}

static void spy_detach(struct spy *s, u32 id)
{
	struct model_task *t = model_task(id);

	MUST(t->seat != OUT, "set aside where it is not", id);
	spy_gets_slice(id);
	t->aside = true;
	REAL(detach)(&s->real, id);
}

#if HAS(SHIFT)
static void spy_attach(struct spy *s, u32 id, u64 by)
{
	MUST(model_task(id)->aside, "comes back and was not set aside", id);
	model_task(id)->aside = false;
	REAL(attach)(&s->real, id, by);
}
#define SPY_PICKS PEEK | PREPARE | DROPS | KEY | SHIFT
#else
#define SPY_PICKS PEEK | PREPARE | DROPS | KEY
#endif
#else
#define SPY_PICKS PEEK | PREPARE | DROPS
#endif
#else
static u32 spy_pick(struct spy *s, u32 cpu, u64 now)
{
	u32 id = REAL(pick)(&s->real, cpu, now);

	MUST(cpu < model.ncpus, "asked for a CPU that does not exist", cpu);
	if (id & REMOVED) {
		spy_removed(id & ~REMOVED);
		return id;
	}
	if (id) {
		MUST(model_task(id)->seat == WAITS, "the policy picks a task that does not wait", id);
		spy_gets_slice(id);
		return id;
	}
	for (id = 1; id < POOL; id++)
		MUST(model.task[id].seat != WAITS, "the policy picks nobody while one waits", id);
	return 0;
}

#define SPY_PICKS 0
#endif

#if SPY_REMOVES
static void spy_discard(struct spy *s, u32 id)
{
	spy_removed(id);
	REAL(discard)(&s->real, id);
}
#endif

#if HAS(PREEMPTS)
static bool spy_preempts(struct spy *s, u32 woken, u32 running, u64 now)
{
	MUST(model_task(woken)->seat == WAITS, "preempts and does not wait", woken);
	MUST(model_task(running)->seat == HAS_SLICE, "is preempted and has no slice", running);
	model_must_be_charged(running);
	return REAL(preempts)(&s->real, woken, running, now);
}
#undef POLICY_HAS
#define POLICY_HAS INIT | CHARGE | REWEIGH | SLICE | PREEMPTS | FORK | OVERDRAWN | SPY_TIMES | SPY_PICKS | SPY_REMOVES
#else
#undef POLICY_HAS
#define POLICY_HAS INIT | CHARGE | REWEIGH | SLICE | FORK | OVERDRAWN | SPY_TIMES | SPY_PICKS | SPY_REMOVES
#endif

#endif
