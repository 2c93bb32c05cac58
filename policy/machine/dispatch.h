/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine: tasks are enqueued, and a CPU that dispatches gets one and a slice for it. */
#ifndef DIVVY_MACHINE_DISPATCH_H
#define DIVVY_MACHINE_DISPATCH_H

#include "place.h"

/*
 * The host gives the task into our custody. Returns the CPU that is to ask for a dispatch now because of
 * it: an idle one, or one whose task it preempts; NO_CPU if none.
 */
static ALWAYS_INLINE u32 machine_enqueue(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);
	bool fresh = t->state & FRESH;
	u32 cpu;

	/* Its slice was taken from it without a dispatch, by a higher scheduling class. */
	if ((t->state & (PICKED | PARKED)) == PICKED)
		machine_stop(m, id, now, PREEMPTED);
	t->state = (t->state & ~FRESH) | CUSTODY;
	cpu = machine_wake_idle(m, id);
	if (cpu == NO_CPU && fresh && !(t->state & PICKED))
		cpu = machine_preempt(m, id, now);
	machine_stand_anew(m, id);
	if (machine_parks_early(m, id))
		machine_park(m, id);
	return cpu;
}

/* The host took it back, to change it or to move it: nobody is given it before it is enqueued again. If it was picked and has
 * not come to its CPU yet, that CPU will not have it: it may go on where it ran before. */
static inline void machine_dequeue(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);

	if ((t->state & (PICKED | PARKED | ON_CPU)) == PICKED)
		machine_stop(m, id, now, PREEMPTED);
	t->state &= ~CUSTODY;
	machine_stand_anew(m, id);
}

static inline void machine_yield(struct machine *m, u32 cpu)
{
	m->why[cpu & CPU_MASK] = YIELDED;
}

/* Whether a task that the policy names waits, as the contract says; if not, nobody is to run. */
static inline bool machine_waits(struct machine *m, u32 id)
{
	if ((machine_task(m, id)->state & (RUNNABLE | PICKED)) == RUNNABLE)
		return true;
	m->faults++;
	m->found = 0;
	return false;
}

/* Whether it waits as well, and any CPU can run it: the common case. No task (0) does not. */
static inline bool machine_is_ready(struct machine *m, u32 id)
{
	return (machine_task(m, id)->state & (RUNNABLE | PICKED | PINNED | CUSTODY)) == (RUNNABLE | CUSTODY);
}

/* At one dispatch the policy is asked for another task so many times because the CPU cannot run the one that it named, which is
 * parked then. After that the CPU is to ask for another dispatch, so that the lock is never held for as long as it takes to look
 * at all tasks of other CPUs. A test may choose fewer. */
#ifndef PASSES
#define PASSES (POLICY_LINEAR ? 1u : 64u)
#endif

static inline bool machine_passes_by(struct machine *m)
{
	return ++m->passed < PASSES;
}

/* A policy that answered REMOVED did a part of its work, which takes as long as so many of those. */
#define DROP_PASSES 8u

static inline bool machine_dropped(struct machine *m)
{
	if (!HAS(DROPS) || m->next != REMOVED)
		return false;
	m->passed += DROP_PASSES;
	m->asking = m->passed < PASSES;
	return true;
}

#if HAS(PEEK)
static NOINLINE void machine_ask(struct machine *m, u32 cpu, u64 now)
{
	m->next = CALL(peek)(&m->s, cpu, now);
}

static NOINLINE void machine_park_unless_it_can_run(struct machine *m, u32 id, u32 cpu)
{
	if (machine_can_run(m, id, cpu))
		return;
	machine_park(m, id);
	m->found = 0;
	m->asking = machine_passes_by(m);
}

/* The task that the policy named is picked, if none of a class comes first. */
static inline void machine_take(struct machine *m, u32 cpu)
{
	u32 id = m->next;

	m->asking = false;
	if (m->found != id)
		return;
	m->decisions++;
	if (!machine_is_ready(m, id) && (!id || !machine_waits(m, id)))
		return;
	CALL(take)(&m->s, id);
	if (!machine_is_ready(m, id))
		machine_park_unless_it_can_run(m, id, cpu);
}

/* Asks the policy until it names a task that this CPU can run, or one of a class comes first: into found. One step calls
 * all, so that frames are few, and what these leave is in memory, so that the verifier sees one state. */
static NOINLINE void machine_pick(struct machine *m, u32 cpu, u64 now)
{
	m->asking = !m->found;
	if (m->asking)
		CALL(before_peek)(&m->s, cpu, now);
	while (m->asking && can_loop) {
		machine_ask(m, cpu, now);
		if (machine_dropped(m))
			continue;
		m->found = m->next;
		if (m->search.best)
			machine_compare(m, cpu);
		machine_take(m, cpu);
	}
}
#else
static inline void machine_ask(struct machine *m, u32 cpu, u64 now)
{
	u32 id = CALL(pick)(&m->s, cpu, now);

	m->next = id;
	if (!HAS(DISCARD) || !(id & REMOVED))
		return;
	machine_drop_member(m, id & POOL_MASK);
	m->has_removed = true;
}

/* The common case: the policy named a task that any CPU can run, and no other is compared with it. */
static inline bool machine_takes_ready(struct machine *m)
{
	u32 id = m->next;

	if ((HAS(DISCARD) && id & REMOVED) || (POLICY_SHARES && m->search.best) || !machine_is_ready(m, id))
		return false;
	m->decisions++;
	m->asking = false;
	m->found = id;
	return true;
}

/* The task that the policy picked runs, if this CPU can run it and none of a class comes first; else it is parked. */
static NOINLINE void machine_take(struct machine *m, u32 cpu)
{
	u32 id = m->next;

	if (HAS(DISCARD) && id & REMOVED)
		return;
	m->decisions++;
	m->asking = false;
	m->found = id;
	if (!id)
		m->found = m->search.best;
	if (!id || !machine_waits(m, id))
		return;
	m->asking = !machine_can_run(m, id, cpu);
	if (!m->asking && POLICY_SHARES && m->search.best)
		machine_compare(m, cpu);
	if (m->asking)
		m->found = 0;
	if (m->found != id)
		machine_park(m, id);
	if (m->asking)
		m->asking = machine_passes_by(m);
}

/* Asks the policy until it names a task that this CPU can run, into found. */
static NOINLINE void machine_pick(struct machine *m, u32 cpu, u64 now)
{
	m->asking = !m->found;
	while (m->asking && can_loop) {
		machine_ask(m, cpu, now);
		if (!machine_takes_ready(m))
			machine_take(m, cpu);
	}
}
#endif

/* How long the slice that now begins may last. The policy is asked only here: what it has charged since may have changed its
 * answer. */
static inline u64 machine_begin_slice(struct machine *m, u32 id)
{
	u64 slice = machine_is_apart(m, id) ? m->s.tasks.quantum : CALL(slice)(&m->s, id);

	if (POLICY_LOOKS_AHEAD && m->parking.busy && slice > m->s.tasks.quantum)
		slice = m->s.tasks.quantum;
	return machine_has(m, FLOW) ? flow_slice(machine_flow(m), id, slice) : slice;
}

/* Whether a task that used up its slice goes on with it, if it may. The policy is not told, as if the slice had not ended. */
static inline bool machine_delays(struct machine *m, u32 id, u32 cpu, u64 now)
{
	if (!machine_has(m, FLOW) || !machine_may_run(m, id, cpu))
		return false;
	return flow_expires(machine_flow(m), id, machine_ran(m, id, now));
}

static NOINLINE u32 machine_promise_anew(struct machine *m, u32 cpu, u32 runs)
{
	u32 id = m->promised[cpu & CPU_MASK];

	m->promised[cpu & CPU_MASK] = 0;
	return runs && id != runs && machine_task(m, id)->state & CUSTODY ? machine_wake_idle(m, id) : NO_CPU;
}

/* The CPU has come: if it runs another task than the one that it was woken for, that one is promised another.
 * (If it runs nothing, that one is already running elsewhere, or promised.) */
static ALWAYS_INLINE u32 machine_keep_promise(struct machine *m, u32 cpu, u32 runs)
{
	return m->promised[cpu & CPU_MASK] ? machine_promise_anew(m, cpu, runs) : NO_CPU;
}

/*
 * Something that the machine does not schedule runs on this CPU, such as a real-time task: until it dispatches it is not
 * idle. A task for which it was woken is promised another CPU. Returns the CPU that is to ask for a dispatch, or NO_CPU.
 */
static inline u32 machine_take_cpu(struct machine *m, u32 cpu)
{
	machine_set_idle(m, cpu, 0);
	return machine_keep_promise(m, cpu, NO_TASK);
}

/* The slice of a task ends, with which it has or had a CPU. */
static ALWAYS_INLINE void machine_end_slice_inlined(struct machine *m, u32 id, u64 now, enum why why)
{
	machine_settle(m, id, now);
	machine_keep_up(m, id);
	machine_stop(m, id, now, why);
	if (machine_parks_early(m, id))
		machine_park(m, id);
}

/* That of the task which this CPU ran */
static NOINLINE void machine_end_slice(struct machine *m, u64 now, enum why why)
{
	machine_end_slice_inlined(m, m->prev, now, why);
}

/* Whether there can be a parked task. One that waits in its class is bound, or waits for its tag. */
static inline bool machine_has_parked(const struct machine *m)
{
	return m->parking.first | m->s.tasks.nbound || (POLICY_SHARES && m->parking.waiting);
}

/* The first of them in line that this CPU can run, into found, or the first of all classes into best: that is found, if the policy's own
 * tasks are not compared with it. */
static ALWAYS_INLINE void machine_find_parked(struct machine *m, u32 cpu)
{
	machine_find_in_line(m, cpu);
	if (m->found)
		return;
	machine_find_best(m, cpu);
	if (!HAS(PEEK) && !POLICY_SHARES)
		m->found = m->search.best;
}

/* The turn of the task that was found */
static NOINLINE void machine_begin_turn(struct machine *m, u32 cpu)
{
	u32 id = m->found;

	if (!id)
		return;
	if (machine_task(m, id)->state & PARKED)
		machine_unpick(m, id);
	machine_close_gap(m, id, cpu);
	m->found = id;
}

/* Chooses once more for a CPU whose slice has ended: see PASSES. */
static inline struct order machine_choose(struct machine *m, u32 cpu, u64 now)
{
	struct order order;
	struct task *t;
	bool again;

	m->passed = m->s.tasks.zero;
	m->found = 0;
	m->search.best = 0;
	if (machine_has_parked(m))
		machine_find_parked(m, cpu);
	machine_pick(m, cpu, now);
	/* Otherwise it was not parked, and there is no gap to close. */
	if (machine_has_parked(m))
		machine_begin_turn(m, cpu);
	else if (POLICY_SHARES && m->found)
		machine_note_free(m, m->found, cpu);
	order = (struct order){ .id = m->found };
	/* After the selection, not inside its loop: the verifier does not take that (gr3 D8). */
	if (HAS(DISCARD) && m->has_removed) {
		m->has_removed = false;
		machine_readjust(m, now);
	}
	if (!order.id) {
		again = m->passed >= PASSES;
		machine_set_idle(m, cpu, !again);
		order.kick = again ? cpu : machine_keep_promise(m, cpu, 0);
		return order;
	}
	machine_set_idle(m, cpu, 0);
	order.kick = machine_keep_promise(m, cpu, order.id);
	t = machine_task(m, order.id);
	t->state = (t->state | PICKED) & ~CUSTODY;
	t->cpu = cpu;
	t->turn = 0;
	m->s.tasks.picked[cpu & CPU_MASK] = order.id;
	machine_begin_sum(m, order.id);
	order.slice = machine_begin_slice(m, order.id);
	return order;
}

/* The task that this CPU is to run from now on: the one that ran there is not off it before the host says so. Without a task, and
 * with this CPU as the one to kick, it is to ask again. */
static inline struct order machine_dispatch(struct machine *m, u32 cpu, u64 now)
{
	u32 prev = m->s.tasks.picked[cpu & CPU_MASK];
	enum why why = m->why[cpu & CPU_MASK];

	m->why[cpu & CPU_MASK] = 0;
	if (prev && !why && machine_task(m, prev)->state & ON_CPU && machine_delays(m, prev, cpu, now))
		return (struct order){ .id = prev,
				       .slice = machine_flow(m)->tm,
				       .kick = machine_keep_promise(m, cpu, prev) };
	m->prev = prev;
	if (prev)
		machine_end_slice(m, now, why ? why : EXPIRED);
	return machine_choose(m, cpu, now);
}

/*
 * The slice of a task is over, and its CPU does not ask for a dispatch, as something that the machine does not schedule comes first. The
 * task is off the CPU, and still runnable. Returns for how long it goes on there afterwards, in ns; 0: its slice has ended, and it is
 * enqueued next.
 */
static ALWAYS_INLINE u64 machine_expire(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);
	u32 cpu = t->cpu & CPU_MASK;
	enum why why = m->why[cpu];

	if ((t->state & (PICKED | PARKED | ON_CPU)) != PICKED)
		return 0;
	if (!why && machine_delays(m, id, cpu, now))
		return machine_flow(m)->tm;
	machine_end_slice_inlined(m, id, now, why ? why : EXPIRED);
	return 0;
}

static IN_PLACE void machine_running(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);

	machine_end_sum(m, id);
	t->since = now;
	t->state |= ON_CPU;
	machine_begin_sum(m, id);
	/* Here, and not in the dispatch before, as the verifier has the least to look at in this event. */
	if (machine_has_due(m))
		machine_readjust(m, now);
}

/* It is off its CPU and received `ran` ns there since machine_running. */
static inline void machine_stopping(struct machine *m, u32 id, u64 ran, u64 now)
{
	struct task *t = machine_task(m, id);

	machine_charge(m, id, ran, now);
	machine_end_sum(m, id);
	t->charged -= ran;
	t->state &= ~ON_CPU;
	if (machine_has(m, FLOW))
		flow_task(machine_flow(m), id)->used += ran;
}

#if POLICY_SHARES
/* The policy has it no more, nor the queue of a policy with lazy removal. */
static inline void machine_retire(struct machine *m, u32 id, u64 now)
{
	bool apart = machine_is_apart(m, id);

	if (machine_task(m, id)->state & RUNNABLE)
		machine_leave(m, id, now, EXITED);
	if (HAS(DISCARD) && !apart && machine_is_member(m, id) && !machine_only_weighs(m))
		CALL(discard)(&m->s, id);
}

/* From one class to another: if one of them is none, the policy loses it or gets it. */
static inline void machine_change_class(struct machine *m, u32 id, const struct allowed *allowed, u64 now)
{
	u16 state = machine_task(m, id)->state;

	if (!machine_class(m, id) ? machine_is_everywhere(m, allowed)
				  : machine_same_cpus(m, machine_allowed(m, id), allowed->word))
		return;
	if (state & PICKED)
		machine_stop(m, id, now, PREEMPTED);
	if (state & RUNNABLE)
		machine_class_left(m, id);
	machine_retire(m, id, now);
	machine_rebase(m, id);
	machine_leave_class(m, id);
	machine_enter_class(m, id, allowed);
	if (!(state & RUNNABLE)) {
		if (HAS(DISCARD) && machine_is_member(m, id))
			machine_count_out(m, id, now);
		return;
	}
	machine_join(m, id, now, WOKEN);
	machine_class_joined(m, id);
}
#else
static inline void machine_change_class(struct machine *m, u32 id, const struct allowed *allowed, u64 now)
{
	u16 state = machine_task(m, id)->state;

	/* The policy has it again, in its order: without a class it would be first in line. */
	if (machine_is_taken(m, id) && machine_is_everywhere(m, allowed))
		machine_stop(m, id, now, PREEMPTED);
	else if (state & PARKED)
		machine_unpark(m, id);
	else if (HAS(SHIFT) && state & PICKED)
		machine_set_on(m, id, machine_moved(m, id));
	if (state & RUNNABLE)
		machine_class_left(m, id);
	machine_leave_class(m, id);
	machine_enter_class(m, id, allowed);
	if (state & RUNNABLE)
		machine_class_joined(m, id);
}
#endif

/* Returns the CPU that is to ask for a dispatch because of it, or NO_CPU. The caller takes it off a CPU that
 * it may no longer use. */
static inline u32 machine_set_allowed(struct machine *m, u32 id, const struct allowed *allowed, u64 now)
{
	struct task *t = machine_task(m, id);
	bool had_slice = (t->state & (PICKED | PARKED)) == PICKED;

	machine_change_class(m, id, allowed, now);
	if (machine_is_member(m, id))
		machine_reweigh(m, id, machine_granted(m, id), now);
	if ((!POLICY_SHARES && t->state & PARKED) || (t->state & CUSTODY && machine_parks_early(m, id)))
		machine_park(m, id);
	/* If its slice has ended, it is not to run on: it would have the CPU and a place in the queue as well. */
	if (had_slice && !(t->state & PICKED)) {
		m->why[t->cpu & CPU_MASK] = PREEMPTED;
		return t->cpu;
	}
	return t->state & CUSTODY ? machine_wake_idle(m, id) : NO_CPU;
}

#endif
