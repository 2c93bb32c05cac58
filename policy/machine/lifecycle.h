/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine: tasks come to be, become runnable, block and exit. */
#ifndef DIVVY_MACHINE_LIFECYCLE_H
#define DIVVY_MACHINE_LIFECYCLE_H

#include "family.h"
#include "place.h"

/* The bits of the CPUs [from, from + 64) that exist */
static inline u64 machine_first_cpus(u32 ncpus, u32 from)
{
	if (ncpus <= from)
		return 0;
	return ncpus - from >= 64 ? ~0ull : (1ull << (ncpus - from)) - 1;
}

/* Memory is zeroed, parameters are set. Every CPU is idle. */
static IN_PLACE void machine_init(struct machine *m, u32 ncpus, u64 quantum)
{
	m->s.tasks.ncpus = ncpus;
	m->s.tasks.quantum = quantum;
	m->feasible.p = ncpus;
	if (machine_is_whole(m)) {
		m->groups.p = ncpus;
		flow_init(&m->flow);
	}
	for (u32 i = 0; i < CPU_WORDS; i++)
		m->cpus.word[i] = m->idle.word[i] = machine_first_cpus(ncpus, 64 * i);
	m->idle.words = machine_first_cpus((ncpus + 63) / 64, 0);
	m->modifiers = modifiers_of(m->modifiers);
	/* No weight asks for more than a CPU that is the only one: about 500 instructions a switch less. */
	if (ncpus == 1)
		m->modifiers &= ~FEASIBLE;
	CALL(init)(&m->s);
}

/* `process` is the id of the task that stands for its process. */
static IN_PLACE void machine_new(struct machine *m, u32 id, u32 process, u64 weight, u64 now)
{
	struct task *t = machine_task(m, id);

	t->nominal = weight; /* as asked for: what a parent's threads made of it is not inherited (procfair R3) */
	t->weight = weight;
	t->process = process;
	if (machine_is_whole(m))
		m->groups.of[id & POOL_MASK] = ROOT;
	t->charged = 0;
	t->ahead = 0;
	t->turn = 0; /* that of the id's former task would be a debt: machine/family.h */
	t->cpu = NO_CPU;
	t->state = KNOWN;
	ENTITLED(machine_task(m, id)->entitled.service = 0;)
#if POLICY_SHARES
	machine_task(m, id)->tag = 0;
#endif
#if HAS(FORK)
	machine_born(m, id);
#endif
	machine_forget_owner(m, id);
	CALL(fork)(&m->s, id, 0, now);
	if (machine_counts(m, true)) {
		machine_count_thread(m, id, true);
		machine_readjust(m, now);
	}
}

/* A task that is new, and was not runnable yet, was made by this one, or by one that is not known (0). */
static inline void machine_fork(struct machine *m, u32 id, u32 parent, u64 now)
{
#if HAS(FORK)
	machine_settle(m, parent, now);
	machine_owe(m, id, parent);
	CALL(fork)(&m->s, id, parent, now);
#endif
}

/* Its program says that it begins a session: what it does from now on is for another request. */
static inline void machine_session(struct machine *m, u32 id, u64 now)
{
#if HAS(SESSION)
	machine_settle(m, id, now);
	CALL(session)(&m->s, id, now);
#endif
}

/* It executes a program from now on, from its beginning; 0 is none that is known. */
static inline void machine_set_program(struct machine *m, u32 id, u64 identity, u64 now)
{
	u64 ran = machine_ran(m, id, now);

	if (!machine_has(m, FLOW))
		return;
	flow_terminates(machine_flow(m), id, ran, now);
	flow_created(machine_flow(m), id, identity, ran);
}

/* Not runnable any more: quiescent came first. A task that never ran may still have a program. `moves`: another machine has it next. */
static IN_PLACE void machine_exit(struct machine *m, u32 id, bool moves, u64 now)
{
	if (machine_has(m, FLOW))
		flow_terminates(machine_flow(m), id, 0, now);
	if (HAS(DISCARD) && machine_is_member(m, id)) {
		CALL(discard)(&m->s, id);
		machine_count_out(m, id, now);
	}
	if (machine_counts(m, true)) {
		machine_count_thread(m, id, false);
		machine_readjust(m, now);
	}
	machine_leave_class(m, id);
#if HAS(FORK)
	if (!moves)
		machine_take_back(m, id);
#endif
	machine_task(m, id)->state = 0;
}

/*
 * A task that comes or goes changes much, and inlined code leaves a state for each way through it, with which the verifier goes on. A
 * call leaves one: pbs with all modifiers needs 163,000 instructions instead of 609,000. The inlined form is for functions of the host
 * below which calls are as deep already as they may be: 8 frames.
 */
static ALWAYS_INLINE void machine_runnable_inlined(struct machine *m, u32 id, u64 now, enum why why)
{
	struct task *t = machine_task(m, id);

	if (t->state & RUNNABLE)
		return;
	if (machine_has(m, FLOW))
		flow_wakes(machine_flow(m), id, now);
	if (!machine_is_member(m, id))
		machine_count_in(m, id, now);
	ENTITLED(entitled_join(&m->entitled, &m->s.tasks, id, now);)
	t->state |= RUNNABLE | FRESH | MEMBER;
	m->s.tasks.nrunnable++;
	machine_rebase(m, id);
	machine_join(m, id, now, why);
	machine_class_joined(m, id);
}

static NOINLINE void machine_runnable(struct machine *m, u32 id, u64 now, enum why why)
{
	machine_runnable_inlined(m, id, now, why);
}

/* A task that has just become runnable, and is not enqueued yet, comes from another machine, where its tags were `by` later than they are here,
 * modulo 2^64 (placement R4). Only with a policy whose attach changes nothing but the tags of the task. */
static inline void machine_carry(struct machine *m, u32 id, u64 by, u64 now)
{
#if HAS(SHIFT)
	if ((machine_task(m, id)->state & (RUNNABLE | FRESH | PICKED)) != (RUNNABLE | FRESH))
		return;
	CALL(detach)(&m->s, id);
	CALL(attach)(&m->s, id, by);
	CALL(stop)(&m->s, id, now, PREEMPTED);
#endif
}

static ALWAYS_INLINE void machine_quiescent_inlined(struct machine *m, u32 id, u64 now, enum why why)
{
	struct task *t = machine_task(m, id);
	bool apart = machine_is_apart(m, id);

	if (!(t->state & RUNNABLE))
		return;
	machine_settle(m, id, now);
	machine_owners_had(m, id);
	machine_end_turn(m, id, why);
	if (machine_has(m, FLOW) && why == EXITED)
		flow_terminates(machine_flow(m), id, 0, now);
	else if (machine_has(m, FLOW))
		flow_blocks(machine_flow(m), id, now);
	ENTITLED(entitled_leave(&m->entitled, &m->s.tasks, id, now);)
	machine_class_left(m, id);
	if (t->state & PARKED)
		machine_unpark(m, id);
	t->state &= ~PARKED;
	machine_leave(m, id, now, why);
	if (t->state & PICKED)
		machine_unpick(m, id);
	t->state &= ~(RUNNABLE | CUSTODY | FRESH);
	m->s.tasks.nrunnable--;
	/* A policy with lazy removal keeps it until its turn, or its end. */
	if (!HAS(DISCARD) || apart || machine_only_weighs(m))
		machine_count_out(m, id, now);
}

static NOINLINE void machine_quiescent(struct machine *m, u32 id, u64 now, enum why why)
{
	machine_quiescent_inlined(m, id, now, why);
}

#endif
