/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The machine's interface as data: an event with its arguments and the answer, and a machine's configuration.
 * The fuzzer tells events to the native machine, the BPF check to both machines; a kernel host logs them, and
 * `divvy verify` tells them again. Include a policy first.
 */
#ifndef DIVVY_EVENT_H
#define DIVVY_EVENT_H

#include "machine.h"

// clang-format off
#define EVENTS(E) \
	E(new) E(exit) E(runnable) E(quiescent) E(enqueue) E(dequeue) E(dispatch) E(running) E(stopping) E(yield) \
	E(set_weight) E(set_allowed) E(set_param) E(set_process) E(set_group) E(enter_group) E(set_program) E(learn) \
	E(fork) E(session) E(take_cpu) E(expire) E(carry)
// clang-format on

#define EVENT_KIND(name) EVENT_##name,
/* Why a task leaves a machine, if it comes to another one */
#define MOVES 1
/* ns, how far the clocks of CPUs may be apart */
#define CLOCK_SKEW 800

enum event_kind { EVENTS(EVENT_KIND) EVENT_KINDS };

struct event {
	u64 now;
	/* the weight of new, set_weight and set_group, the service of stopping, the value of set_param, the identity of
	 * set_program, the T_p of learn, how much later carry makes the tags */
	u64 amount;
	u64 slice; /* answer of dispatch and expire; of learn, told: the wait after that run */
	struct allowed allowed;
	u32 id; /* answer of dispatch */
	/* the owner of set_param's parameter: 0 the policy, else the modifier's bit; the group; the lower half of learn's
	 * identity; the parent of fork */
	u32 process;
	/* the index of set_param; the parent of set_group; the position of learn; answer of enqueue, dispatch,
	 * set_allowed and take_cpu: the CPU that is to dispatch */
	u32 cpu;
	u32 why; /* of learn: the upper half of the identity; of exit: MOVES, or else it is gone */
	u32 seq; /* a host's, that logs: the order in which it was told */
};

/* Parameters are s64 and nothing else, so their structs are arrays. Those of modifiers stay: weights in use were
 * made with them. */
static inline void event_set_param(struct machine *m, const struct event *e)
{
	s64 *param = (s64 *)&m->s.param;

	if (!e->process && e->cpu < sizeof(m->s.param) / sizeof(s64))
		param[e->cpu] = (s64)e->amount;
}

/* An entry of a program's sequence, from an earlier run of the machine. Nothing that is decided depends on the wait. */
static inline void event_learn(struct machine *m, const struct event *e)
{
	if (machine_has(m, FLOW))
		flow_learn(machine_flow(m), (u64)e->why << 32 | e->process, e->cpu, e->amount, e->slice);
}

/* Inlined, as a host tells each kind in its place: the switch goes, and the event is in registers. */
static ALWAYS_INLINE void event_tell(struct machine *m, enum event_kind kind, struct event *e)
{
	struct order order;

	e->now = machine_now(m, e->now);
	switch (kind) {
	case EVENT_new: machine_new(m, e->id, e->process, e->amount, e->now); break;
	case EVENT_exit: machine_exit(m, e->id, e->why == MOVES, e->now); break;
	case EVENT_runnable: machine_runnable(m, e->id, e->now, e->why); break;
	case EVENT_quiescent: machine_quiescent(m, e->id, e->now, e->why); break;
	case EVENT_enqueue: e->cpu = machine_enqueue(m, e->id, e->now); break;
	case EVENT_dequeue: machine_dequeue(m, e->id, e->now); break;
	case EVENT_running: machine_running(m, e->id, e->now); break;
	case EVENT_stopping: machine_stopping(m, e->id, e->amount, e->now); break;
	case EVENT_yield: machine_yield(m, e->cpu); break;
	case EVENT_set_weight: machine_set_weight(m, e->id, e->amount, e->now); break;
	case EVENT_set_allowed: e->cpu = machine_set_allowed(m, e->id, &e->allowed, e->now); break;
	case EVENT_set_process: machine_set_process(m, e->id, e->process, e->now); break;
	case EVENT_set_group: machine_set_group(m, e->process, e->cpu, e->amount, e->now); break;
	case EVENT_enter_group: machine_enter_group(m, e->id, e->process, e->now); break;
	case EVENT_set_param: event_set_param(m, e); break;
	case EVENT_set_program: machine_set_program(m, e->id, e->amount, e->now); break;
	case EVENT_learn: event_learn(m, e); break;
	case EVENT_fork: machine_fork(m, e->id, e->process, e->now); break;
	case EVENT_session: machine_session(m, e->id, e->now); break;
	case EVENT_take_cpu: e->cpu = machine_take_cpu(m, e->cpu); break;
	case EVENT_expire: e->slice = machine_expire(m, e->id, e->now); break;
	case EVENT_carry: machine_carry(m, e->id, e->amount, e->now); break;
	case EVENT_dispatch:
		order = machine_dispatch(m, e->cpu, e->now);
		e->id = order.id;
		e->cpu = order.kick;
		e->slice = order.slice;
		break;
	case EVENT_KINDS: break;
	}
}

/* The same for a task that becomes runnable or blocks, where calls are as deep already as they may be: see machine/lifecycle.h. */
static ALWAYS_INLINE void event_tell_inlined(struct machine *m, enum event_kind kind, struct event *e)
{
	e->now = machine_now(m, e->now);
	if (kind == EVENT_runnable)
		machine_runnable_inlined(m, e->id, e->now, e->why);
	else
		machine_quiescent_inlined(m, e->id, e->now, e->why);
}

/* ---- configuration ---- */

#define CONFIG_MODIFIER(UPPER, lower) \
	struct { \
		UPPER##_PARAMS(PARAM_FIELD) u64 no_params_[0]; \
	} lower;

struct config {
	u64 quantum;
	u32 ncpus;
	u32 modifiers;
	struct {
		POLICY_PARAMS(PARAM_FIELD) u64 no_params_[0];
	} policy;
	MODIFIERS(CONFIG_MODIFIER)
};

#define CONFIG_COPY(to, from) \
	for (u32 i_ = 0; i_ < sizeof(to) / sizeof(s64); i_++) \
		((s64 *)&(to))[i_] = ((const volatile s64 *)&(from))[i_];
#define CONFIG_COPY_MODIFIER(UPPER, lower) \
	if (UPPER & POLICY_MODIFIERS || machine_is_whole(m)) { \
		CONFIG_COPY(m->lower.param, c->lower) \
	}

/* On zeroed memory. volatile: read-only data that a BPF loader fills in. One of several machines has some of the CPUs, and of the modifiers. */
static IN_PLACE void config_init_for(struct machine *m, const volatile struct config *c, u32 ncpus, u32 modifiers)
{
	m->modifiers = modifiers;
	CONFIG_COPY(m->s.param, c->policy)
	MODIFIERS(CONFIG_COPY_MODIFIER)
	machine_init(m, ncpus, c->quantum);
}

static IN_PLACE void config_init(struct machine *m, const volatile struct config *c)
{
	config_init_for(m, c, c->ncpus, c->modifiers);
}

#endif
