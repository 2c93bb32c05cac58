/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine: runs a selection policy with any modifiers of weights and of slices, for both hosts.
 *
 * The host (the simulator, or a BPF program) tells it sched_ext's events in sched_ext's order; it keeps
 * the task table, calls the policy by its contract, and answers what a CPU is to run. It is one unit with the
 * policy: define DIVVY_POLICY and include the policy's header first.
 *
 *   machine_new            a task exists                                  (init_task)
 *   machine_runnable       it became runnable                             (runnable)
 *   machine_enqueue        it is in the machine's custody: it may be run  (enqueue)
 *   machine_dequeue        it is not any more: the host took it back      (dequeue)
 *   machine_dispatch       what is this CPU to run?                       (dispatch)
 *   machine_running        it is on the CPU                               (running)
 *   machine_stopping       it is off the CPU                              (stopping)
 *   machine_quiescent      it is no longer runnable                       (quiescent)
 *   machine_exit           it is gone                                     (exit_task)
 *   machine_yield          its CPU's next dispatch ends its turn as yielded (yield)
 *   machine_set_weight, machine_set_allowed, machine_set_process
 *   machine_set_group      a group of tasks exists, or has another weight
 *   machine_enter_group    a task is in another group
 *   machine_set_program    it executes a program from its beginning       (exec)
 *
 * dispatch comes before stopping of the task that ran, as in the kernel: until that task is enqueued again
 * it is not in custody, and no other CPU can be given it.
 *
 * States of a task, and who moves it (M1..M7 are checked by the simulator after every event):
 *
 *   known --runnable--> waiting --dispatch--> picked --dispatch--> waiting, or picked again
 *     ^                    |                     |
 *     +------quiescent-----+------quiescent------+
 *
 *   M1  a task is PICKED for at most one CPU, and each CPU has at most one picked task
 *   M2  a picked task is RUNNABLE
 *   M3  a PARKED task is picked and on no CPU: it was picked where it could not run, and is first in line
 *       for a CPU where it can; its turn is not lost
 *   M4  the policy never names a task that is not runnable or already picked (else: faults)
 *   M5  a CPU is idle only if each task in custody that may run on it is promised another CPU, one that was
 *       asked to dispatch and has not yet; so with nothing left to do, only if none may run on it
 *   M6  service charged to the policy = service received, less what is carried over to a task's next turn
 *   M7  every runnable task is waiting, parked, or picked for a CPU
 */
#ifndef DIVVY_MACHINE_H
#define DIVVY_MACHINE_H

#include "policy.h"
#include "defaults.h"
#include "lib/ring.h"
#include "lib/threads.h"
#include "weight/feasible.h"
#include "weight/groups.h"
#include "weight/procfair.h"
#include "weight/tfps.h"
#include "slice/flow.h"
#ifdef MACHINE_ENTITLED
#include "entitled.h"
#define ENTITLED(call) call
#else
#define ENTITLED(call)
#endif

/* task.state, beside PICKED */
#define KNOWN 2
#define RUNNABLE 4
#define CUSTODY 8 /* the host gave it to us */
#define PARKED 32
#define FRESH 64 /* joined, and not yet enqueued since */
#define PINNED 128 /* allowed[] says where it may run */

#define NO_CPU 0xffffu

/* Modifiers, in the order in which they are applied: to a weight, then to a slice */
#define MODIFIERS(M) M(PROCFAIR, procfair) M(TFPS, tfps) M(GROUPS, groups) M(FEASIBLE, feasible) M(FLOW, flow)
#define PROCFAIR 1
#define TFPS 2
#define GROUPS 4
#define FEASIBLE 8
#define FLOW 16

/* A host that knows before it is loaded which of them are asked for defines MODIFIERS_LOADED: of the others the verifier
 * then sees nothing. */

struct allowed {
	u64 word[CPU_WORDS];
};

struct machine {
	struct DIVVY_POLICY s;
	struct procfair procfair;
	struct tfps tfps;
	struct threads threads; /* for procfair and tfps */
	struct groups groups;
	struct feasible feasible;
	struct flow flow;
	u32 modifiers;

	u64 decisions; /* times that the policy was asked */
	u64 faults;    /* times that it answered against the contract (M4) */
	u64 idle[CPU_WORDS];
	struct links parking;
	u32 parked;    /* first in line */
	u32 found;     /* scratch of the searches below */
	u32 at;
	u16 why[MAX_CPUS]; /* why the turn on each CPU ends, if not because it expired */
	u32 promised[MAX_CPUS]; /* the task for which each CPU was woken */
	u64 now;
#ifdef MACHINE_ENTITLED
	struct entitled entitled;
#endif
	struct allowed allowed[POOL];
};

struct order {
	u32 id;    /* 0: nothing to run */
	u32 kick;  /* another CPU that is to ask for a dispatch because of it, or NO_CPU */
	u64 slice; /* ns */
};

static inline struct task *machine_task(struct machine *m, u32 id)
{
	return &m->s.tasks.task[id & POOL_MASK];
}

/* Weights of groups are feasible as they are. */
static inline u32 modifiers_of(u32 asked)
{
#ifdef POLICY_MODIFIERS
	asked |= POLICY_MODIFIERS;
#endif
	return asked & GROUPS ? asked & ~FEASIBLE : asked;
}

static inline bool machine_has(const struct machine *m, u32 modifiers)
{
#ifdef MODIFIERS_LOADED
	modifiers &= modifiers_of(MODIFIERS_LOADED);
#endif
	return m->modifiers & modifiers;
}

static inline bool machine_may_run(const struct machine *m, u32 id, u32 cpu)
{
	const struct allowed *a = &m->allowed[id & POOL_MASK];

	if (!(m->s.tasks.task[id & POOL_MASK].state & PINNED))
		return true;
	return a->word[(cpu & CPU_MASK) / 64] >> (cpu % 64) & 1;
}

/* Time as all CPUs see it: a host whose CPUs have clocks of their own passes each reading through here, under
 * the lock, because policies count on a `now` that does not go back. */
static inline u64 machine_now(struct machine *m, u64 reading)
{
	if (reading > m->now)
		m->now = reading;
	return m->now;
}

/* ---- service and weight ---- */

/* A run has given it `ran` ns so far. A turn is charged in full before it ends, and nothing after it: what a
 * task runs between the dispatch of the next and its own stopping is charged to its next turn. */
static inline void machine_charge(struct machine *m, u32 id, u64 ran, u64 now)
{
	struct task *t = machine_task(m, id);
	u64 due = ran - t->charged;

	if ((t->state & (PICKED | PARKED)) != PICKED || (s64)due <= 0)
		return;
	t->charged += due;
	CALL(charge)(&m->s, id, due, now);
}

/* Charge what a running task received until now. */
static inline void machine_settle(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);

	if (t->state & ON_CPU)
		machine_charge(m, id, now - t->since, now);
}

static inline void machine_reweigh(struct machine *m, u32 id, u64 w, u64 now)
{
	struct task *t = machine_task(m, id);

	if (t->weight == w)
		return;
	if (t->state & RUNNABLE) {
		machine_settle(m, id, now);
		ENTITLED(entitled_reweigh(&m->entitled, &m->s.tasks, id, w, now);)
		CALL(reweigh)(&m->s, id, w, now);
	}
	t->weight = w;
}

/* What its threads are counted by: its process, or if asked for its group, if it is in one */
static inline u32 machine_owner(struct machine *m, u32 id)
{
	s64 by_group = machine_has(m, TFPS) ? m->tfps.param.group : m->procfair.param.group;
	u32 group = m->groups.of[id & POOL_MASK] & GROUP_MASK;

	return by_group && group ? POOL + group : machine_task(m, id)->process;
}

/* A task's weight among the members of its group, or without groups before readjustment. Both of these divide by the same
 * number: with both, tfps does (groups R4). */
static inline u64 machine_wanted(struct machine *m, u32 id)
{
	u64 nominal = machine_task(m, id)->nominal;

	if (machine_has(m, TFPS))
		return tfps_weight(nominal, threads_of(&m->threads, machine_owner(m, id)), m->s.tasks.ncpus);
	if (machine_has(m, PROCFAIR))
		return procfair_weight(nominal, threads_of(&m->threads, machine_owner(m, id)));
	return nominal;
}

/* A task's weight before readjustment */
static inline u64 machine_asked(struct machine *m, u32 id)
{
	return machine_has(m, GROUPS) ? m->groups.phi[id & POOL_MASK] : machine_wanted(m, id);
}

/* Its weight before readjustment may have changed. Inlined, as calls are deep below: at most 8 frames in BPF. */
static inline __attribute__((always_inline)) void machine_reask(struct machine *m, u32 id, u64 now)
{
	if (!machine_has(m, FEASIBLE)) {
		machine_reweigh(m, id, machine_asked(m, id), now);
	} else if (machine_task(m, id)->state & RUNNABLE) {
		feasible_drop(&m->feasible, id);
		feasible_add(&m->feasible, id, machine_asked(m, id));
		if (!m->feasible.infeasible[id & POOL_MASK])
			machine_reweigh(m, id, m->feasible.phi[id & POOL_MASK], now);
	}
}

/* Its wanted weight may have changed. In a group, others' weights do as well, when all are worked out. */
static inline void machine_rewant(struct machine *m, u32 id, u64 now)
{
	if (!machine_has(m, GROUPS))
		machine_reask(m, id, now);
	else if (machine_task(m, id)->state & RUNNABLE)
		groups_want(&m->groups, id, machine_wanted(m, id));
}

static NOINLINE void machine_rewant_threads(struct machine *m, u32 owner, u64 now)
{
	u32 first = m->threads.first[owner & OWNER_MASK];

	m->at = first;
	while (m->at && can_loop) {
		machine_rewant(m, m->at, now);
		m->at = ring_next(&m->threads.members, m->at);
		if (m->at == first)
			m->at = 0;
	}
}

/* The own threads of the group that is looked at */
static NOINLINE void machine_reweigh_group(struct machine *m, u64 now)
{
	struct group *g = groups_at(&m->groups);

	m->at = g->first;
	while (m->at && can_loop) {
		u64 w = groups_weight(&m->groups, groups_at(&m->groups), m->at);

		if (m->groups.phi[m->at & POOL_MASK] != w) {
			m->groups.phi[m->at & POOL_MASK] = w;
			machine_reask(m, m->at, now);
		}
		m->at = ring_next(&m->groups.threads, m->at);
		if (m->at == groups_at(&m->groups)->first)
			m->at = 0;
	}
}

static NOINLINE void machine_reweigh_groups(struct machine *m, u64 now)
{
	while (m->groups.walking && can_loop) {
		if (m->groups.down) {
			groups_share(&m->groups);
			groups_compare(&m->groups);
		}
		if (m->groups.down && m->groups.changed) {
			machine_reweigh_group(m, now);
			groups_give(&m->groups);
		}
		groups_next(&m->groups);
	}
}

/* Inlined for the same reason */
static inline __attribute__((always_inline)) void machine_apply_groups(struct machine *m, u64 now)
{
	groups_start(&m->groups);
	machine_reweigh_groups(m, now);
}

static NOINLINE void machine_reweigh_former(struct machine *m, u64 now)
{
	while (m->at < m->feasible.was && can_loop) {
		u32 id = m->feasible.old[m->at & CPU_MASK];

		if (machine_task(m, id)->state & RUNNABLE)
			machine_reweigh(m, id, feasible_weight(&m->feasible, id), now);
		m->at++;
	}
}

static NOINLINE void machine_reweigh_infeasible(struct machine *m, u64 now)
{
	while (m->at < m->feasible.i && can_loop) {
		u32 id = m->feasible.set[m->at & CPU_MASK];

		machine_reweigh(m, id, m->feasible.cap, now);
		m->at++;
	}
}

static NOINLINE void machine_apply_feasible(struct machine *m, u64 now)
{
	if (feasible_stays(&m->feasible))
		return;
	feasible_readjust(&m->feasible);
	m->at = m->s.tasks.zero;
	machine_reweigh_former(m, now);
	m->at = m->s.tasks.zero;
	machine_reweigh_infeasible(m, now);
}

/* The set of runnable tasks or a wanted weight changed. */
static inline void machine_readjust(struct machine *m, u64 now)
{
	if (machine_has(m, GROUPS))
		machine_apply_groups(m, now);
	if (machine_has(m, FEASIBLE))
		machine_apply_feasible(m, now);
}

static inline void machine_count_thread(struct machine *m, u32 id, bool in, u64 now)
{
	u32 owner = machine_owner(m, id);

	if (in)
		threads_add(&m->threads, owner, id);
	else
		threads_drop(&m->threads, owner, id);
	machine_rewant_threads(m, owner, now);
}

/* Whether threads are counted, from their creation to their end or while they are runnable */
static inline bool machine_counts(const struct machine *m, bool all)
{
	s64 counts_all = machine_has(m, TFPS) ? m->tfps.param.all : m->procfair.param.all;

	return machine_has(m, PROCFAIR | TFPS) && !!counts_all == all;
}

/* ---- tasks come and go ---- */

/* The bits of the CPUs [from, from + 64) that exist */
static inline u64 machine_first_cpus(u32 ncpus, u32 from)
{
	if (ncpus <= from)
		return 0;
	return ncpus - from >= 64 ? ~0ull : (1ull << (ncpus - from)) - 1;
}

/* Memory is zeroed, parameters are set. Every CPU is idle. */
static inline void machine_init(struct machine *m, u32 ncpus, u64 quantum)
{
	m->s.tasks.ncpus = ncpus;
	m->s.tasks.quantum = quantum;
	m->feasible.p = ncpus;
	m->groups.p = ncpus;
	m->idle[0] = machine_first_cpus(ncpus, 0);
	m->idle[1] = machine_first_cpus(ncpus, 64);
	m->idle[2] = machine_first_cpus(ncpus, 128);
	m->idle[3] = machine_first_cpus(ncpus, 192);
	m->modifiers = modifiers_of(m->modifiers);
	/* No weight asks for more than a CPU that is the only one: about 500 instructions a switch less. */
	if (ncpus == 1)
		m->modifiers &= ~FEASIBLE;
	flow_init(&m->flow);
	CALL(init)(&m->s);
}

/* `process` is the id of the task that stands for its process. */
static inline void machine_new(struct machine *m, u32 id, u32 process, u64 weight, u64 now)
{
	struct task *t = machine_task(m, id);

	t->nominal = weight; /* as asked for: what a parent's threads made of it is not inherited (procfair R3) */
	t->weight = weight;
	t->process = process;
	m->groups.of[id & POOL_MASK] = ROOT;
	t->charged = 0;
	t->cpu = NO_CPU;
	t->state = KNOWN;
	ENTITLED(m->entitled.task[id & POOL_MASK].service = 0;)
	if (machine_counts(m, true)) {
		machine_count_thread(m, id, true, now);
		machine_readjust(m, now);
	}
}

/* What it ran since it came on its CPU, ns; 0 if it is on none */
static inline u64 machine_ran(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);

	return t->state & ON_CPU && (s64)(now - t->since) > 0 ? now - t->since : 0;
}

/* It executes a program from now on, from its beginning; 0 is none that is known. */
static inline void machine_set_program(struct machine *m, u32 id, u64 identity, u64 now)
{
	u64 ran = machine_ran(m, id, now);

	if (!machine_has(m, FLOW))
		return;
	flow_terminates(&m->flow, id, ran, now);
	flow_created(&m->flow, id, identity, ran);
}

/* Not runnable any more: quiescent came first. Who never ran may still have a program. */
static inline void machine_exit(struct machine *m, u32 id, u64 now)
{
	if (machine_has(m, FLOW))
		flow_terminates(&m->flow, id, 0, now);
	if (machine_counts(m, true)) {
		machine_count_thread(m, id, false, now);
		machine_readjust(m, now);
	}
	machine_task(m, id)->state = 0;
}

static inline void machine_runnable(struct machine *m, u32 id, u64 now, enum why why)
{
	struct task *t = machine_task(m, id);

	if (t->state & RUNNABLE)
		return;
	if (machine_has(m, FLOW))
		flow_wakes(&m->flow, id, now);
	if (machine_counts(m, false))
		machine_count_thread(m, id, true, now);
	if (machine_has(m, GROUPS)) {
		groups_add(&m->groups, id, machine_wanted(m, id));
		machine_apply_groups(m, now);
	}
	if (machine_has(m, FEASIBLE)) {
		feasible_add(&m->feasible, id, machine_asked(m, id));
		machine_apply_feasible(m, now);
		t->weight = feasible_weight(&m->feasible, id);
	} else {
		t->weight = machine_asked(m, id);
	}
	ENTITLED(entitled_join(&m->entitled, &m->s.tasks, id, now);)
	t->state |= RUNNABLE | FRESH;
	m->s.tasks.nrunnable++;
	CALL(join)(&m->s, id, now, why);
}

static inline void machine_unpick(struct machine *m, u32 id)
{
	struct task *t = machine_task(m, id);

	if (t->state & PARKED)
		ring_remove(&m->parking, &m->parked, id);
	else if (m->s.tasks.picked[t->cpu & CPU_MASK] == id)
		m->s.tasks.picked[t->cpu & CPU_MASK] = 0;
	t->state &= ~(PICKED | PARKED);
}

static inline void machine_quiescent(struct machine *m, u32 id, u64 now, enum why why)
{
	struct task *t = machine_task(m, id);

	if (!(t->state & RUNNABLE))
		return;
	machine_settle(m, id, now);
	if (machine_has(m, FLOW) && why == EXITED)
		flow_terminates(&m->flow, id, 0, now);
	else if (machine_has(m, FLOW))
		flow_blocks(&m->flow, id, now);
	ENTITLED(entitled_leave(&m->entitled, &m->s.tasks, id, now);)
	CALL(leave)(&m->s, id, now, why);
	if (t->state & PICKED)
		machine_unpick(m, id);
	t->state &= ~(RUNNABLE | CUSTODY | FRESH);
	m->s.tasks.nrunnable--;
	if (machine_has(m, FEASIBLE))
		feasible_drop(&m->feasible, id);
	if (machine_has(m, GROUPS))
		groups_drop(&m->groups, id);
	if (machine_counts(m, false))
		machine_count_thread(m, id, false, now);
	machine_readjust(m, now);
}

static inline void machine_set_weight(struct machine *m, u32 id, u64 weight, u64 now)
{
	machine_task(m, id)->nominal = weight;
	machine_rewant(m, id, now);
	machine_readjust(m, now);
}

/* Whether it is one of the threads that are counted now */
static inline bool machine_is_counted(struct machine *m, u32 id)
{
	return machine_counts(m, true) || (machine_counts(m, false) && machine_task(m, id)->state & RUNNABLE);
}

/* From now on it is a thread of another process. */
static inline void machine_set_process(struct machine *m, u32 id, u32 process, u64 now)
{
	if (machine_is_counted(m, id))
		machine_count_thread(m, id, false, now);
	machine_task(m, id)->process = process;
	if (machine_is_counted(m, id))
		machine_count_thread(m, id, true, now);
	machine_rewant(m, id, now);
	machine_readjust(m, now);
}

/* A group comes to be, below MAX_GROUPS and not ROOT, or has another weight; or, while no task in it is runnable, another
 * parent, which is not below it. */
static inline void machine_set_group(struct machine *m, u32 group, u32 parent, u64 weight, u64 now)
{
	groups_set(&m->groups, group, parent, weight);
	machine_readjust(m, now);
}

/* From now on it is in another group, or in none (ROOT). */
static inline void machine_enter_group(struct machine *m, u32 id, u32 group, u64 now)
{
	bool member = machine_has(m, GROUPS) && machine_task(m, id)->state & RUNNABLE;

	if (machine_is_counted(m, id))
		machine_count_thread(m, id, false, now);
	if (member)
		groups_drop(&m->groups, id);
	m->groups.of[id & POOL_MASK] = group;
	if (member)
		groups_add(&m->groups, id, machine_wanted(m, id));
	if (machine_is_counted(m, id))
		machine_count_thread(m, id, true, now);
	machine_rewant(m, id, now);
	machine_readjust(m, now);
}

/* ---- turns ---- */

/* Its turn is over: back to the policy. */
static inline void machine_stop(struct machine *m, u32 id, u64 now, enum why why)
{
	machine_settle(m, id, now);
	machine_unpick(m, id);
	CALL(stop)(&m->s, id, now, why);
}

static inline bool machine_is_idle(const struct machine *m, u32 cpu)
{
	return m->idle[(cpu & CPU_MASK) / 64] >> (cpu % 64) & 1;
}

static inline void machine_set_idle(struct machine *m, u32 cpu, u64 idle)
{
	u64 *word = &m->idle[(cpu & CPU_MASK) / 64];

	*word = (*word & ~(1ull << (cpu % 64))) | idle << (cpu % 64);
}

/* An idle CPU where the task may run, into found. */
static NOINLINE void machine_find_idle(struct machine *m, u32 id)
{
	m->found = NO_CPU;
	while (m->at < m->s.tasks.ncpus && can_loop) {
		if (machine_is_idle(m, m->at) && machine_may_run(m, id, m->at)) {
			m->found = m->at;
			return;
		}
		m->at++;
	}
}

static inline bool machine_any_idle(const struct machine *m)
{
	return m->idle[0] | m->idle[1] | m->idle[2] | m->idle[3];
}

/* Promises a task an idle CPU, the one where it ran last if that is idle; NO_CPU if there is none. */
static inline u32 machine_wake_idle(struct machine *m, u32 id)
{
	u32 last = machine_task(m, id)->cpu;

	if (!machine_any_idle(m))
		return NO_CPU;
	m->found = last;
	if (last >= m->s.tasks.ncpus || !machine_may_run(m, id, last) || !machine_is_idle(m, last)) {
		m->at = m->s.tasks.zero;
		machine_find_idle(m, id);
		if (m->found == NO_CPU)
			return NO_CPU;
	}
	machine_set_idle(m, m->found, 0);
	m->promised[m->found & CPU_MASK] = id;
	return m->found;
}

#if HAS(PREEMPTS)
/* A CPU whose task gives way to one that just joined, into found. Where the turn is to end already, the CPU will
 * choose anew: of tasks that wake together each takes another. It is the first by number that gives way, not the one
 * that should most: the contract does not compare running tasks with each other. */
static NOINLINE void machine_find_preemptible(struct machine *m, u32 woken, u64 now)
{
	while (m->at < m->s.tasks.ncpus && can_loop) {
		u32 running = m->s.tasks.picked[m->at & CPU_MASK];

		if (running && !m->why[m->at & CPU_MASK] && machine_may_run(m, woken, m->at)) {
			machine_settle(m, running, now);
			if (CALL(preempts)(&m->s, woken, running, now)) {
				m->found = m->at;
				return;
			}
		}
		m->at++;
	}
}

static inline u32 machine_preempt(struct machine *m, u32 woken, u64 now)
{
	m->at = m->s.tasks.zero;
	m->found = NO_CPU;
	machine_find_preemptible(m, woken, now);
	if (m->found != NO_CPU)
		m->why[m->found & CPU_MASK] = PREEMPTED;
	return m->found;
}
#else
static inline u32 machine_preempt(struct machine *m, u32 woken, u64 now)
{
	return NO_CPU;
}
#endif

/*
 * The host gives the task into our custody. Returns the CPU that is to ask for a dispatch now because of
 * it: an idle one, or one whose task it preempts; NO_CPU if none.
 */
static inline u32 machine_enqueue(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);
	bool fresh = t->state & FRESH;
	u32 cpu;

	/* Its turn was taken from it without a dispatch, by a higher scheduling class. */
	if ((t->state & (PICKED | PARKED)) == PICKED)
		machine_stop(m, id, now, PREEMPTED);
	t->state = (t->state & ~FRESH) | CUSTODY;
	cpu = machine_wake_idle(m, id);
	if (cpu == NO_CPU && fresh && !(t->state & PICKED))
		cpu = machine_preempt(m, id, now);
	return cpu;
}

/* The host took it back, to change it or to move it: nobody is given it before it is enqueued again. */
static inline void machine_dequeue(struct machine *m, u32 id)
{
	machine_task(m, id)->state &= ~CUSTODY;
}

static inline void machine_yield(struct machine *m, u32 cpu)
{
	m->why[cpu & CPU_MASK] = YIELDED;
}

static inline void machine_park(struct machine *m, u32 id)
{
	ring_push_back(&m->parking, &m->parked, id);
	machine_task(m, id)->state |= PICKED | PARKED;
}

/* Whether a CPU can run a task now: it may, and it has it. The task that runs there needs no custody; one that was
 * picked and taken back before it ran does. */
static inline bool machine_can_run(struct machine *m, u32 id, u32 cpu, u32 prev)
{
	u32 has = id == prev ? CUSTODY | ON_CPU : CUSTODY;

	return machine_may_run(m, id, cpu) && machine_task(m, id)->state & has;
}

/* The first parked task that this CPU can run, into found. */
static NOINLINE void machine_find_parked(struct machine *m, u32 cpu, u32 prev)
{
	while (m->at && can_loop) {
		if (machine_can_run(m, m->at, cpu, prev)) {
			m->found = m->at;
			return;
		}
		m->at = ring_next(&m->parking, m->at);
		if (m->at == m->parked)
			return;
	}
}

static inline u32 machine_unpark(struct machine *m, u32 cpu, u32 prev)
{
	if (!m->parked)
		return 0;
	m->at = m->parked;
	m->found = 0;
	machine_find_parked(m, cpu, prev);
	if (m->found)
		machine_unpick(m, m->found);
	return m->found;
}

/* Asks the policy until it names a task that this CPU can run, into found; parks the others. */
static NOINLINE void machine_pick(struct machine *m, u32 cpu, u32 prev, u64 now)
{
	while (can_loop) {
		u32 id = CALL(pick)(&m->s, cpu, now);

		m->found = id;
		m->decisions++;
		if (!id)
			return;
		if ((machine_task(m, id)->state & (RUNNABLE | PICKED)) != RUNNABLE) {
			m->faults++;
			m->found = 0;
			return;
		}
		if (machine_can_run(m, id, cpu, prev))
			return;
		machine_park(m, id);
	}
	m->found = 0;
}

static inline u64 machine_slice(struct machine *m, u32 id)
{
	return CALL(slice)(&m->s, id);
}

/* How long the turn that now begins may last */
static inline u64 machine_turn(struct machine *m, u32 id)
{
	u64 slice = machine_slice(m, id);

	return machine_has(m, FLOW) ? flow_slice(&m->flow, id, slice) : slice;
}

/* Whether the task whose timeslice is over goes on with its turn: one that ran until now, and may. The policy is not
 * told, as if it were still in its timeslice. */
static inline bool machine_delays(struct machine *m, u32 id, u32 cpu, u64 now)
{
	if (!machine_has(m, FLOW) || !(machine_task(m, id)->state & ON_CPU) || !machine_may_run(m, id, cpu))
		return false;
	return machine_slice(m, id) != SLICE_INF && flow_expires(&m->flow, id, machine_ran(m, id, now));
}

/* The CPU has come: if it runs another task than the one that it was woken for, that one is promised another.
 * (If it runs nothing, that one is already running elsewhere, or promised.) */
static inline u32 machine_keep_promise(struct machine *m, u32 cpu, u32 runs)
{
	u32 id = m->promised[cpu & CPU_MASK];

	m->promised[cpu & CPU_MASK] = 0;
	return runs && id && id != runs && machine_task(m, id)->state & CUSTODY ? machine_wake_idle(m, id) : NO_CPU;
}

/* What this CPU is to run from now on: the task that ran there is not off it before the host says so. */
static inline struct order machine_dispatch(struct machine *m, u32 cpu, u64 now)
{
	u32 prev = m->s.tasks.picked[cpu & CPU_MASK];
	enum why why = m->why[cpu & CPU_MASK];
	struct order order;
	struct task *t;

	m->why[cpu & CPU_MASK] = 0;
	if (prev && !why && machine_delays(m, prev, cpu, now))
		return (struct order){ .id = prev, .slice = m->flow.tm, .kick = machine_keep_promise(m, cpu, prev) };
	if (prev)
		machine_stop(m, prev, now, why ? why : EXPIRED);
	if (!machine_unpark(m, cpu, prev))
		machine_pick(m, cpu, prev, now);
	order = (struct order){ .id = m->found };
	machine_set_idle(m, cpu, !order.id);
	order.kick = machine_keep_promise(m, cpu, order.id);
	if (!order.id)
		return order;
	t = machine_task(m, order.id);
	t->state = (t->state | PICKED) & ~CUSTODY;
	t->cpu = cpu;
	m->s.tasks.picked[cpu & CPU_MASK] = order.id;
	order.slice = machine_turn(m, order.id);
	return order;
}

static inline void machine_running(struct machine *m, u32 id, u64 now)
{
	struct task *t = machine_task(m, id);

	t->since = now;
	t->state |= ON_CPU;
}

/* It is off its CPU and received `ran` ns there since machine_running. */
static inline void machine_stopping(struct machine *m, u32 id, u64 ran, u64 now)
{
	struct task *t = machine_task(m, id);

	machine_charge(m, id, ran, now);
	t->charged -= ran;
	t->state &= ~ON_CPU;
	if (machine_has(m, FLOW))
		flow_task(&m->flow, id)->used += ran;
}

/* Returns the CPU that is to ask for a dispatch because of it, or NO_CPU. The caller takes it off a CPU that
 * it may no longer use. */
static inline u32 machine_set_allowed(struct machine *m, u32 id, const struct allowed *allowed)
{
	struct task *t = machine_task(m, id);

	m->allowed[id & POOL_MASK] = *allowed;
	t->state |= PINNED;
	return t->state & CUSTODY ? machine_wake_idle(m, id) : NO_CPU;
}

#endif
