/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The weigher knows all tasks, and works out their weights. With one shard it is the machine. With several it is one machine more, which has all CPUs
 * and the modifiers of weights, and never picks: placement R7 calls it the account (here accounts are rows of statistics). Its lock is that
 * of ids and groups, and no shard's lock is held together with it.
 *
 * It is told before the shard of a task that becomes runnable, and after that of one that blocks, ends, or may run on other CPUs. Others whose
 * weights change by that wait in a queue (reweighed.h), and whoever has told the weigher something, or dispatches, passes on some of them: each
 * under the lock of the shard where that task is, where the weight is read that the weigher has at that moment. A shard is told one after another,
 * so what it was told last was read last: a weight never takes the place of a newer one. A task that is between two shards has its weight read
 * when it comes (moves.h).
 *
 * There is no weigher if no modifier of weights is loaded, and the selection includes none. Then the verifier leaves all of this out. A shard's machine
 * has the modifier that the selection includes, for its own CPUs, once more.
 */
#ifndef DIVVY_HOST_WEIGHING_H
#define DIVVY_HOST_WEIGHING_H

#include "host/decision_log.h"
#include "host/events.h"
#include "host/tasks.h"

#ifdef DIVVY_SHARDS

struct machine weigher_machine;

static __always_inline struct machine *weigher(void)
{
	return &weigher_machine;
}

static __always_inline bool has_weigher(void)
{
	return (modifiers_loaded | POLICY_MODIFIERS) & (PROCFAIR | TFPS | GROUPS | FEASIBLE);
}

/* Under its lock. The log has what shards were told. */
static __always_inline void tell_weigher(enum event_kind kind, struct event *e)
{
	if (has_weigher())
		event_tell(weigher(), kind, e);
}

static __always_inline void log_weigher(enum event_kind kind, const struct event *e, u64 value, u32 answer)
{
}

/* A hint without the lock: whether shards do not know all weights yet. */
static __always_inline bool has_news(void)
{
	return has_weigher() && (reweighed.first != reweighed.end || machine_has_due(weigher()));
}

/* When the weigher is told, besides that it does not know it already: always, or as the task is now (holding_in_shards.h) */
enum { ALWAYS, IF_HELD, IF_RUNNABLE };

/* Under its lock */
static __always_inline bool is_to_weigh(u32 id, u32 when, u16 state)
{
	if ((machine_task(weigher(), id)->state & RUNNABLE) != state)
		return false;
	return when == ALWAYS || (when == IF_HELD ? host_task(id)->move.held : task_in_machine(id)->state & RUNNABLE);
}

/* The task is runnable from now on. Returns whether the weigher did not know that. Not static: the verifier checks these by themselves. */
NOINLINE bool weigh_in(u32 id, u32 when)
{
	struct event e = { .id = id, .why = WOKEN, .now = clock_ns() };
	bool is_told;

	bpf_spin_lock(&lock);
	is_told = is_to_weigh(id, when, 0);
	if (is_told)
		event_tell_inlined(weigher(), EVENT_runnable, &e);
	bpf_spin_unlock(&lock);
	return is_told;
}

/* It no longer is. */
NOINLINE int weigh_out(u32 id, u32 when)
{
	struct event e = { .id = id, .why = BLOCKED, .now = clock_ns() };

	bpf_spin_lock(&lock);
	if (is_to_weigh(id, when, RUNNABLE))
		event_tell_inlined(weigher(), EVENT_quiescent, &e);
	bpf_spin_unlock(&lock);
	return 0;
}

/* A task that is not runnable is gone. */
static __always_inline void forget_weight(u32 id)
{
	struct event e = { .id = id, .now = clock_ns() };

	if (!has_weigher())
		return;
	bpf_spin_lock(&lock);
	tell_weigher(EVENT_exit, &e);
	bpf_spin_unlock(&lock);
}

#else

static __always_inline bool has_weigher(void)
{
	return false;
}

static __always_inline struct machine *weigher(void)
{
	return &machine;
}

static __always_inline void tell_weigher(enum event_kind kind, struct event *e)
{
	tell(0, kind, e);
}

static __always_inline void log_weigher(enum event_kind kind, const struct event *e, u64 value, u32 answer)
{
	log_event(0, kind, e, value, answer, 0);
}

#endif

#endif
