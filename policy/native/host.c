/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The native host: one policy with the machine around it, as a table of functions for Rust. Compiled once
 * a policy, with DIVVY_POLICY its name and POLICY_HEADER its header.
 */
#define MAX_CPUS 4096u
#define MACHINE_SIZED
#include "host.h"
#include POLICY_HEADER
#include "event.h"
#include "limits.h"
#include "native/turn.h"
#include "native/turns.h"
#include "native/placement.h"

#define PARAM_ROW(name, kind, unit, dflt, min, max, help) { #name, unit, help, kind, dflt, min, max },
#define EVENT_NAME(name) #name,
#define SHOWN_ROW(name, unit, value) { name, unit },
#define SHOWN_VALUE(name, unit, value) \
	if (!index--) \
		return (s64)(value);
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define EXPORT GLUE(divvy_host_, DIVVY_POLICY)

#ifndef POLICY_SHOWS
#define POLICY_SHOWS(V)
#endif

static const char *const events[] = { EVENTS(EVENT_NAME) };
static const struct param params[] = { POLICY_PARAMS(PARAM_ROW){ 0 } };
static const struct shown shown[] = { POLICY_SHOWS(SHOWN_ROW){ 0 } };

#ifdef POLICY_SIMULATOR_ONLY
#define SIMULATOR_ONLY POLICY_SIMULATOR_ONLY
#else
#define SIMULATOR_ONLY 0
#endif
#ifdef POLICY_BASELINE
#define IS_BASELINE true
#else
#define IS_BASELINE false
#endif

/* Each parameter is an s64, in the order of its list. */
#define SET_DEFAULT(name, kind, unit, dflt, min, max, help) *at++ = dflt;
#define SET_DEFAULTS(UPPER, lower) \
	at = (s64 *)&m->lower.param; \
	UPPER##_PARAMS(SET_DEFAULT)
#define SET_PARAM(UPPER, lower) \
	if (modifier == UPPER) \
		((s64 *)&m->lower.param)[index] = value;

static void set_defaults(struct machine *m)
{
	s64 *at = (s64 *)&m->s.param;

	POLICY_PARAMS(SET_DEFAULT)
	MODIFIERS(SET_DEFAULTS)
	(void)at;
}

static void h_set_param(struct machine *m, u32 modifier, u32 index, s64 value)
{
	if (!modifier)
		((s64 *)&m->s.param)[index] = value;
	MODIFIERS(SET_PARAM)
}

static u64 machine_size(u32 ncpus)
{
	return sizeof(struct machine) + sizeof(u64) * ALLOWED_SETS * ((ncpus + 63) / 64);
}

/* Bytes of a machine of so many CPUs, and of its limits, which come after it */
static u64 h_size(u32 ncpus)
{
	return machine_size(ncpus) + sizeof(struct limits);
}

static struct limits *limits_of(struct machine *m)
{
	return (struct limits *)((char *)m + machine_size(m->s.tasks.ncpus));
}

static void h_prepare(struct machine *m, u32 modifiers)
{
	m->modifiers = modifiers;
	set_defaults(m);
}

static void h_init(struct machine *m, u32 ncpus, u64 quantum)
{
	machine_init(m, ncpus, quantum);
}

static void h_new(struct machine *m, u32 id, u32 process, u64 weight, u64 now)
{
	machine_new(m, id, process, weight, now);
}

static void h_exit(struct machine *m, u32 id, u64 now)
{
	machine_exit(m, id, false, now);
}

/* Whether a group around the task is used up; then the machine loses it, and it is held. */
static bool holds_back(struct machine *m, u32 id, u64 now, bool fresh)
{
	struct limits *l = limits_of(m);

	if (!l->on)
		return false;
	limits_look(l, m, id, now);
	if (!l->found)
		return false;
	machine_quiescent(m, id, now, BLOCKED);
	limits_hold(l, id, l->found, fresh, now);
	return true;
}

static u32 h_wake(struct machine *m, u32 id, u64 now, u32 is_new)
{
	if (holds_back(m, id, now, is_new))
		return NO_CPU;
	machine_runnable(m, id, now, is_new ? NEW : WOKEN);
	return machine_enqueue(m, id, now);
}

/* Off its CPU. If its group was used up at the last dispatch there, the machine was told then. */
static void off_cpu(struct machine *m, u32 id, u64 ran, u64 now)
{
	if (machine_task(m, id)->state & ON_CPU)
		machine_stopping(m, id, ran, now);
}

static void h_off(struct machine *m, u32 id, u64 ran, u64 now, u32 exits)
{
	off_cpu(m, id, ran, now);
	machine_quiescent(m, id, now, exits ? EXITED : BLOCKED);
	if (limits_of(m)->on)
		limits_off(limits_of(m), m, id, ran);
}

static void h_quiescent(struct machine *m, u32 id, u64 now, u32 exits)
{
	if (limits_holds(limits_of(m), id))
		limits_free(limits_of(m), id, now);
	machine_quiescent(m, id, now, exits ? EXITED : BLOCKED);
}

/* Whether the task that a dispatch answered may run; its slice is not longer than its groups have left. Else the machine is told that it
 * blocks. One that is on its CPU is held when it is off it. */
static bool admit(struct machine *m, struct order *order, u64 now)
{
	struct limits *l = limits_of(m);
	u32 id = order->id;

	limits_settle(l, m, id, machine_ran(m, id, now));
	limits_look(l, m, id, now);
	if (!l->found) {
		order->slice = order->slice < l->room ? order->slice : l->room;
		if (l->room != SLICE_INF)
			limits_take(l, m, id, order->slice);
		return true;
	}
	if (machine_task(m, id)->state & ON_CPU) {
		machine_stopping(m, id, machine_ran(m, id, now), now);
		machine_quiescent(m, id, now, BLOCKED);
	} else {
		machine_quiescent(m, id, now, BLOCKED);
		limits_hold(l, id, l->found, false, now);
	}
	return false;
}

static __attribute__((noinline)) struct order dispatch_within_limits(struct machine *m, u32 cpu, u64 now)
{
	u32 prev = m->s.tasks.picked[cpu & CPU_MASK], kick = NO_CPU;
	struct order order;

	if (prev)
		limits_settle(limits_of(m), m, prev, machine_ran(m, prev, now));
	do {
		order = ask(m, cpu, now);
		kick = kick == NO_CPU ? order.kick : kick;
	} while (order.id && !admit(m, &order, now));
	/* Nobody may run here, so the task for which that CPU was woken, and which may, is held by now. */
	if (!order.id && kick != NO_CPU) {
		machine_set_idle(m, kick, 1);
		m->promised[kick & CPU_MASK] = 0;
		kick = NO_CPU;
	}
	order.kick = kick;
	return order;
}

static struct order h_dispatch(struct machine *m, u32 cpu, u64 now)
{
	return limits_of(m)->on ? dispatch_within_limits(m, cpu, now) : ask(m, cpu, now);
}

/* Whether its group was used up. If that was at the dispatch, it has got something back since. */
static __attribute__((noinline)) bool held_off_cpu(struct machine *m, u32 id, u64 ran, u64 now)
{
	limits_off(limits_of(m), m, id, ran);
	if (holds_back(m, id, now, false))
		return true;
	machine_runnable(m, id, now, WOKEN);
	return false;
}

static ALWAYS_INLINE u32 requeue(struct machine *m, u32 id, u64 ran, u64 now)
{
	off_cpu(m, id, ran, now);
	if (limits_of(m)->on && held_off_cpu(m, id, ran, now))
		return NO_CPU;
	return machine_enqueue(m, id, now);
}

static u32 h_requeue(struct machine *m, u32 id, u64 ran, u64 now)
{
	return requeue(m, id, ran, now);
}

static void h_set_limit(struct machine *m, u32 group, u64 quota, u64 period, u64 burst, u64 now)
{
	limits_set(limits_of(m), group, quota, period, burst, now);
}

/* When a task that is held may run at the earliest, or SLICE_INF if none is held. */
static u64 h_due(struct machine *m, u64 now)
{
	struct limits *l = limits_of(m);
	u64 due = SLICE_INF;

	for (u32 place = 0; place < l->nqueue; place++) {
		struct limit *g = &l->group[l->queue[place] & GROUP_MASK];
		u64 at = g->left > 0 || !g->quota ? now : g->ends;

		due = due < at ? due : at;
	}
	return due;
}

/* The next task that was held and may run now is given to the machine: 0 if there is none. The CPU that is to dispatch because of
 * it, into kick. */
static struct order h_release(struct machine *m, u64 now)
{
	struct limits *l = limits_of(m);
	struct order order = { .kick = NO_CPU };

	for (u32 place = 0; place < l->nqueue && !order.id; place++) {
		do
			order.id = limits_next(l, m, place, now);
		while (l->moved);
	}
	if (!order.id)
		return order;
	machine_runnable(m, order.id, now, l->fresh[order.id & POOL_MASK] ? NEW : WOKEN);
	order.kick = machine_enqueue(m, order.id, now);
	return order;
}

static bool h_holds(struct machine *m, u32 id)
{
	return limits_holds(limits_of(m), id);
}

static u32 h_held(struct machine *m)
{
	return limits_of(m)->nheld;
}

static void h_running(struct machine *m, u32 id, u64 now)
{
	machine_running(m, id, now);
}

static u32 h_change(struct machine *m, u32 id, u64 ran, u64 now, u32 next, u64 from)
{
	u32 asked = requeue(m, id, ran, now);

	machine_running(m, next, from);
	return asked;
}

static void h_yield(struct machine *m, u32 cpu)
{
	machine_yield(m, cpu);
}

static void h_set_weight(struct machine *m, u32 id, u64 weight, u64 now)
{
	machine_set_weight(m, id, weight, now);
}

static u32 h_set_allowed(struct machine *m, u32 id, const u64 *words, u32 n, u64 now)
{
	struct allowed a = { 0 };

	for (u32 i = 0; i < n && i < CPU_WORDS; i++)
		a.word[i] = words[i];
	return machine_set_allowed(m, id, &a, now);
}

#if HAS(BRING)
static void h_bring(struct machine *m, u32 id, u64 work)
{
	CALL(bring)(&m->s, id, work);
}
#else
#define h_bring 0
#endif

#ifdef POLICY_CALLED
static void h_set_calls(struct machine *m, const struct calls *calls, void *author)
{
	m->s.calls = calls;
	m->s.author = author;
}

static u64 h_fact(const struct machine *m, u32 fact, u32 id, u64 now)
{
	return called_fact(&m->s.tasks, fact, id, now);
}
#else
#define h_set_calls 0
#define h_fact 0
#endif

/* One CPU's slice ends, and its next begins. */
static u32 next_turn(struct machine *m, u32 cpu, u64 now)
{
	u32 prev = m->s.tasks.picked[cpu & CPU_MASK];

	return h_turn(m, cpu, prev, prev ? now - machine_task(m, prev)->since : 0, now).id;
}

static void h_turns(struct machine *m, u64 now, u64 rounds, u32 *ran)
{
	u64 quantum = m->s.tasks.quantum;

	for (; rounds; rounds--, now += quantum)
		for (u32 cpu = 0; cpu < m->s.tasks.ncpus; cpu++)
			*ran++ = next_turn(m, cpu, now);
}

static void h_turns_alone(struct machine *m, u64 now, u64 rounds, u32 *ran)
{
	if (!turns_need_no_machine(m)) {
		h_turns(m, now, rounds, ran);
		return;
	}
	for (; rounds; rounds--, now += m->s.tasks.quantum)
		*ran++ = turn_alone(m, now);
}

static void h_tell(struct machine *m, u32 kind, struct event *e)
{
	event_tell(m, kind, e);
}

static const struct flow_program *h_program(struct machine *m, u64 identity)
{
	struct flow *flow = machine_flow(m);
	u32 place = identity && m->modifiers & FLOW ? flow_find(flow, identity) : 0;

	return place ? flow_program(flow, place) : 0;
}

static void h_sequence(struct machine *m, u64 identity, u64 *run, u64 *wait, u32 n)
{
	struct flow *flow = machine_flow(m);
	u32 place = flow_find(flow, identity), chunk = 0;

	for (u32 at = 0; at < n; at++) {
		chunk = flow_chunk_after(flow, place, chunk, at);
		run[at] = flow_entry(flow, chunk, at)->tp;
		wait[at] = flow_entry(flow, chunk, at)->wait;
	}
}

static u32 h_group_parent(const struct machine *m, u32 group)
{
	return m->groups.group[group & GROUP_MASK].parent;
}

static u64 h_weight(const struct machine *m, u32 id)
{
	return weight_of(&m->s.tasks, id);
}

static s64 h_show(struct machine *m, u32 index, u32 id, u64 now)
{
	struct DIVVY_POLICY *s = &m->s;

	POLICY_SHOWS(SHOWN_VALUE)
	(void)s;
	return 0;
}

static u64 h_decisions(const struct machine *m)
{
	return m->decisions;
}

static u64 h_faults(const struct machine *m)
{
	return m->faults;
}

const struct host EXPORT = {
	.name = STRING(DIVVY_POLICY),
	.title = POLICY_TITLE,
	.params = params,
	.nparams = sizeof(params) / sizeof(params[0]) - 1,
	.simulator_only = SIMULATOR_ONLY,
	.is_baseline = IS_BASELINE,
	.linear = POLICY_LINEAR,
	.modifiers = POLICY_MODIFIERS,
	.shown = shown,
	.nshown = sizeof(shown) / sizeof(shown[0]) - 1,
	.events = events,
	.nevents = EVENT_KINDS,
	.event_size = sizeof(struct event),
	.program_size = sizeof(struct flow_program),
	.max_cpus = MAX_CPUS,
	.size = h_size,
	.pool = POOL,
	.prepare = h_prepare,
	.set_param = h_set_param,
	.init = h_init,
	.new = h_new,
	.exit = h_exit,
	.wake = h_wake,
	.off = h_off,
	.quiescent = h_quiescent,
	.dispatch = h_dispatch,
	.requeue = h_requeue,
	.running = h_running,
	.change = h_change,
	.turn = h_turn,
	.yield = h_yield,
	.set_weight = h_set_weight,
	.set_allowed = h_set_allowed,
	.bring = h_bring,
	.set_calls = h_set_calls,
	.fact = h_fact,
	.turns = h_turns,
	.turns_alone = h_turns_alone,
	.tell = h_tell,
	.program = h_program,
	.sequence = h_sequence,
	.weight = h_weight,
	.group_parent = h_group_parent,
	.show = h_show,
	.carry = machine_carry,
	.depart = h_depart,
	.debit = h_debit,
	.flow = h_flow,
	.share_flow = h_share_flow,
	.changed = h_changed,
	.set_limit = h_set_limit,
	.due = h_due,
	.release = h_release,
	.holds = h_holds,
	.held = h_held,
	.decisions = h_decisions,
	.faults = h_faults,
};
