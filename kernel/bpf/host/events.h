/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Events: telling one to the machine (under the lock), and asking a CPU to dispatch because of the answer (after the
 * lock is released). Every change of the machine goes through `tell` and the other functions named `tell_...`, which also number the event for the log.
 */
#ifndef DIVVY_HOST_EVENTS_H
#define DIVVY_HOST_EVENTS_H

#include "host/published.h"
#include "host/state.h"

/* Measures how long the lock is waited for. No clock may be read while it is held, so for one dispatch in many an empty
 * critical section is timed first. The lock is not held. */
static __always_inline void sample_lock(u32 shard)
{
	struct bpf_spin_lock *lock = lock_of(shard);
	u64 start;

	if (machine_at(shard)->decisions & config.no_sample || !lock)
		return;
	start = bpf_ktime_get_ns();
	bpf_spin_lock(lock);
	bpf_spin_unlock(lock);
	__sync_fetch_and_add(&COUNTS_OF(shard).lock_wait_ns, bpf_ktime_get_ns() - start);
	__sync_fetch_and_add(&COUNTS_OF(shard).lock_samples, 1);
}

#ifdef DIVVY_SHARDS
static u32 events_of[MOST_SHARDS];

/* Under the shard's lock: its place in the shard's log. */
static __always_inline void number_event(u32 shard, struct event *e)
{
	if (!config.log)
		return;
	e->seq = ++events_of[shard & SHARD_MASK];
	count(stats.events);
}
#else
/* Under the lock: its place in the log. */
static __always_inline void number_event(u32 shard, struct event *e)
{
	if (config.log)
		e->seq = ++stats.events;
}
#endif

/* No shard's machine only weighs. The functions below ask it nevertheless: then the compiler knows, and leaves out what modifiers of weights do. The
 * verifier would look at that each time. */

/* Under the shard's lock, of a task that becomes runnable or blocks, in functions that a program or a timer calls: calls are deep below. */
static __always_inline void tell_inlined(u32 shard, enum event_kind kind, struct event *e)
{
	struct machine *m = machine_at(shard);

	if (machine_only_weighs(m))
		return;
	event_tell_inlined(m, kind, e);
	note_reach(shard, e->id);
	note_load(shard, e->id);
	number_event(shard, e);
}

/* Under the shard's lock. The answer is in the event. */
static __always_inline void tell(u32 shard, enum event_kind kind, struct event *e)
{
	struct machine *m = machine_at(shard);

#ifdef DIVVY_SHARDS
	if (kind == EVENT_quiescent) {
		tell_inlined(shard, kind, e);
		return;
	}
#endif
	if (machine_only_weighs(m))
		return;
	event_tell(m, kind, e);
	if (kind == EVENT_enqueue || kind == EVENT_dequeue || kind == EVENT_dispatch || kind == EVENT_exit)
		note_reach(shard, e->id);
	if (kind == EVENT_running || kind == EVENT_stopping || kind == EVENT_exit)
		note_load(shard, e->id);
	number_event(shard, e);
}

#ifdef DIVVY_SHARDS
/* Tells which of the shard's CPUs a task may use. The machine gets a copy of the mask: with the address of the event's, the whole event would be on the
 * stack. */
static __always_inline void tell_allowed(u32 shard, struct event *e, u64 cpus)
{
	struct machine *m = machine_at(shard);
	struct allowed allowed = { .word = { cpus } };

	if (machine_only_weighs(m))
		return;
	e->now = machine_now(m, e->now);
	e->cpu = machine_set_allowed(m, e->id, &allowed, e->now);
	e->allowed.word[0] = cpus;
	number_event(shard, e);
}
#endif

/* Asks a CPU to dispatch, by its number in the shard. The lock is not held. */
static __always_inline void kick(u32 shard, u32 cpu)
{
	if (cpu == NO_CPU)
		return;
	scx_bpf_kick_cpu(config.kernel_cpu[global_cpu(shard, cpu) & CPU_MASK],
			 machine_at(shard)->s.tasks.picked[cpu & CPU_MASK] ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
	__sync_fetch_and_add(&stats.kicks, 1);
}

#endif
