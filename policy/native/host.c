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

/* Bytes of a machine of so many CPUs */
static u64 h_size(u32 ncpus)
{
	return sizeof(struct machine) + sizeof(u64) * POOL * ((ncpus + 63) / 64);
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
	machine_exit(m, id, now);
}

static u32 h_wake(struct machine *m, u32 id, u64 now, u32 is_new)
{
	machine_runnable(m, id, now, is_new ? NEW : WOKEN);
	return machine_enqueue(m, id, now);
}

static void h_off(struct machine *m, u32 id, u64 ran, u64 now, u32 exits)
{
	machine_stopping(m, id, ran, now);
	machine_quiescent(m, id, now, exits ? EXITED : BLOCKED);
}

static void h_quiescent(struct machine *m, u32 id, u64 now, u32 exits)
{
	machine_quiescent(m, id, now, exits ? EXITED : BLOCKED);
}

/* No lock is held here: the CPU asks again at once. */
static struct order h_dispatch(struct machine *m, u32 cpu, u64 now)
{
	struct order order = machine_dispatch(m, cpu, now);

	while (!order.id && order.kick == cpu)
		order = machine_choose(m, cpu, now);
	return order;
}

static u32 h_requeue(struct machine *m, u32 id, u64 ran, u64 now)
{
	machine_stopping(m, id, ran, now);
	return machine_enqueue(m, id, now);
}

static void h_running(struct machine *m, u32 id, u64 now)
{
	machine_running(m, id, now);
}

static u32 h_change(struct machine *m, u32 id, u64 ran, u64 now, u32 next, u64 from)
{
	u32 asked = h_requeue(m, id, ran, now);

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

/* One CPU's slice ends, and its next begins: the calls that Rust makes one by one, in their order. */
static u32 next_turn(struct machine *m, u32 cpu, u64 now)
{
	u32 prev = m->s.tasks.picked[cpu & CPU_MASK];
	u32 next = h_dispatch(m, cpu, now).id;

	if (next == prev)
		return next;
	if (prev) {
		machine_stopping(m, prev, now - machine_task(m, prev)->since, now);
		machine_enqueue(m, prev, now);
	}
	if (next)
		machine_running(m, next, now);
	return next;
}

static void h_turns(struct machine *m, u64 now, u64 rounds, u32 *ran)
{
	u64 quantum = m->s.tasks.quantum;

	for (; rounds; rounds--, now += quantum)
		for (u32 cpu = 0; cpu < m->s.tasks.ncpus; cpu++)
			*ran++ = next_turn(m, cpu, now);
}

static void h_tell(struct machine *m, u32 kind, struct event *e)
{
	event_tell(m, kind, e);
}

static const struct flow_program *h_program(struct machine *m, u64 identity)
{
	u32 place = identity && m->modifiers & FLOW ? flow_find(&m->flow, identity) : 0;

	return place ? flow_program(&m->flow, place) : 0;
}

static void h_sequence(struct machine *m, u64 identity, u64 *run, u64 *wait, u32 n)
{
	u32 place = flow_find(&m->flow, identity), chunk = 0;

	for (u32 at = 0; at < n; at++) {
		chunk = flow_chunk_after(&m->flow, place, chunk, at);
		run[at] = flow_entry(&m->flow, chunk, at)->tp;
		wait[at] = flow_entry(&m->flow, chunk, at)->wait;
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
	.yield = h_yield,
	.set_weight = h_set_weight,
	.set_allowed = h_set_allowed,
	.bring = h_bring,
	.turns = h_turns,
	.tell = h_tell,
	.program = h_program,
	.sequence = h_sequence,
	.weight = h_weight,
	.group_parent = h_group_parent,
	.show = h_show,
	.decisions = h_decisions,
	.faults = h_faults,
};
