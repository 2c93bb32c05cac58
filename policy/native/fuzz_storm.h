/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A storm: a small kernel that does to the machine what sched_ext can do to a scheduler, choosing by bytes.
 *
 * It keeps to the orders of events that a kernel keeps: on one CPU dispatch, stopping of the task that ran,
 * its enqueue or quiescent, running of the next; a dispatched task may be taken back before it runs; a task
 * that a higher class interrupted may go on without a dispatch, and so may one that may not migrate; a task in
 * custody or dispatched may be taken aside, to be changed or moved, and put back. Between any two of these, other
 * CPUs' events, and changes of weights, of groups, of allowed CPUs and of the policy's parameters.
 * A host must not tell the machine of the quiescent and runnable around a change of a running task's attributes.
 */
#ifndef DIVVY_FUZZ_STORM_H
#define DIVVY_FUZZ_STORM_H

#include "fuzz_bytes.h"
#include "event.h"

#define STORM_TASKS 63u

enum storm_place {
	ABSENT,
	ASLEEP,   /* known, not runnable */
	BOUNCED,  /* told quiescent, but awake: runnable comes next */
	WAKING,   /* told runnable, enqueue comes next */
	QUEUED,   /* in the machine's custody */
	ASIDE,    /* told dequeue, enqueue or quiescent comes next */
	LOCAL,    /* dispatched to a CPU, not on it */
	ON,       /* on a CPU */
	STOPPED,  /* told stopping, enqueue comes next */
	BLOCKING, /* told stopping, quiescent comes next */
	DYING,    /* the same for good */
	DEAD,     /* told quiescent, exit comes next */
};

struct storm_task {
	enum storm_place place;
	u32 process; /* its first task */
	u32 threads; /* of a process's first task: how many are not absent */
	u32 cpu;     /* when LOCAL, ON or put */
	u64 since;   /* ns, when ON */
	bool seen;   /* was told runnable */
};

struct storm_cpu {
	u32 curr, next; /* the task that is on it; that was dispatched to it */
	u32 put;        /* was stopped here, and the event that follows is to come */
	bool switching; /* dispatch was told, stopping of curr is to come */
	bool idle;      /* dispatch found nothing, and nobody asked for another */
};

struct storm {
	struct bytes bytes;
	void (*tell)(void *host, enum event_kind kind, struct event *e);
	void *host;
	u32 stride; /* of task ids */

	u64 now;
	u32 ncpus, ntasks;
	u32 kicked; /* the CPU that was last asked to dispatch */
	struct storm_task task[STORM_TASKS + 1];
	struct storm_cpu cpu[MAX_CPUS];
};

/* Whether a set of modifiers is tried: it is not if another means the same. A policy may include some, groups leave
 * nothing to readjust, and where there is tfps there is no procfair. And flow, which has nothing to do with weights, is
 * tried by itself and beside several of the others. */
static bool storm_has_set(u32 modifiers)
{
	u32 weights = modifiers & ~FLOW;
	bool one = weights && !(weights & (weights - 1));

	return modifiers_of(modifiers) == modifiers && (modifiers & (PROCFAIR | TFPS)) != (PROCFAIR | TFPS) &&
	       !(modifiers & FLOW && one);
}

/* ---- choices ---- */

static s64 storm_param(struct storm *s, s64 dflt, s64 min, s64 max)
{
	u32 b = next_byte(&s->bytes);
	u64 range = (u64)max - (u64)min + 1;

	if (b < 128)
		return dflt;
	if (b < 150)
		return min;
	if (b < 170)
		return max;
	return (s64)((u64)min + (range ? (next_u32(&s->bytes) << 32 | next_u32(&s->bytes)) % range : 0));
}

/* Any parameter of the policy, to any value that it may have. */
static bool storm_choose_param(struct storm *s, struct event *e)
{
#define STORM_RANGE(name, kind, unit, dflt, min, max, help) { dflt, min, max },
	static const s64 ranges[][3] = { POLICY_PARAMS(STORM_RANGE) { 0 } };
	u32 n = sizeof(ranges) / sizeof(ranges[0]) - 1;

	if (!n)
		return false;
	e->cpu = next_byte(&s->bytes) % n;
	e->amount = (u64)storm_param(s, ranges[e->cpu][0], ranges[e->cpu][1], ranges[e->cpu][2]);
	return true;
}

/* A configuration; its modifiers are the caller's. */
static void storm_config(struct storm *s, struct config *c)
{
	static const u32 ncpus[] = { 1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 65, 256 };
	static const u32 ntasks[] = { 1, 2, 3, 5, 8, 16, 40, STORM_TASKS };

	c->ncpus = s->ncpus = ncpus[next_byte(&s->bytes) % 12];
	s->ntasks = ntasks[next_byte(&s->bytes) % 8];
	for (u32 cpu = 0; cpu < s->ncpus; cpu++)
		s->cpu[cpu].idle = true;
	c->quantum = (1 + next_byte(&s->bytes)) * MS / 10;
	s->now = (u64)next_byte(&s->bytes) << (next_byte(&s->bytes) % 48);
#define STORM_PARAM(name, kind, unit, dflt, min, max, help) \
	c->policy.name = storm_param(s, dflt, min, max);
#define STORM_PROCFAIR(name, kind, unit, dflt, min, max, help) \
	c->procfair.name = storm_param(s, dflt, min, max);
#define STORM_FEASIBLE(name, kind, unit, dflt, min, max, help) \
	c->feasible.name = storm_param(s, dflt, min, max);
#define STORM_TFPS(name, kind, unit, dflt, min, max, help) \
	c->tfps.name = storm_param(s, dflt, min, max);
	POLICY_PARAMS(STORM_PARAM)
	PROCFAIR_PARAMS(STORM_PROCFAIR)
	TFPS_PARAMS(STORM_TFPS)
#define STORM_FLOW(name, kind, unit, dflt, min, max, help) \
	c->flow.name = storm_param(s, dflt, min, max);
	FEASIBLE_PARAMS(STORM_FEASIBLE)
	FLOW_PARAMS(STORM_FLOW)
}

static u32 storm_choose_task(struct storm *s)
{
	return 1 + next_byte(&s->bytes) % s->ntasks;
}

static u32 storm_choose_cpu(struct storm *s)
{
	u32 b = next_byte(&s->bytes);

	if (b >= 192)
		return s->kicked;
	return s->ncpus <= 8 ? b % s->ncpus : b % 16 * 17 % s->ncpus;
}

static u64 storm_weight(struct storm *s)
{
	static const u64 weights[] = { WEIGHT_NICE_0, WEIGHT_NICE_0, 15 << 10, 88761 << 10, 335 << 10,
				       WEIGHT_MIN, WEIGHT_MAX, 1 << 10, 2 << 10, 3 << 10, 5 << 10, 12 << 10 };
	u32 b = next_byte(&s->bytes);

	return b < 192 ? weights[b % 12] : 1 + next_u32(&s->bytes);
}

/* ---- events ---- */

static void storm_tell(struct storm *s, enum event_kind kind, u32 i, struct event *e)
{
	static const u64 steps[] = { 0, 1, 300, 1000, 10000, MS / 10, MS, 4 * MS };
	u32 b = next_byte(&s->bytes);

	s->now += steps[b % 8];
	e->now = b >= 240 && s->now > CLOCK_SKEW ? s->now - CLOCK_SKEW : s->now;
	e->id = i * s->stride;
	s->tell(s->host, kind, e);
}

static void storm_kick(struct storm *s, const struct event *e)
{
	if (e->cpu == NO_CPU)
		return;
	s->kicked = e->cpu;
	s->cpu[e->cpu].idle = false;
}

static void storm_enqueue(struct storm *s, u32 i)
{
	struct event e = { 0 };

	s->task[i].place = QUEUED;
	storm_tell(s, EVENT_enqueue, i, &e);
	storm_kick(s, &e);
}

static void storm_quiescent(struct storm *s, u32 i, enum storm_place then)
{
	struct event e = { .why = then == DEAD ? EXITED : BLOCKED };

	s->task[i].place = then;
	storm_tell(s, EVENT_quiescent, i, &e);
}

static void storm_runnable(struct storm *s, u32 i)
{
	struct event e = { .why = s->task[i].seen ? WOKEN : NEW };

	s->task[i].seen = true;
	s->task[i].place = WAKING;
	storm_tell(s, EVENT_runnable, i, &e);
}

static void storm_exit(struct storm *s, u32 i)
{
	struct event e = { 0 };

	s->task[i].place = ABSENT;
	s->task[s->task[i].process].threads--;
	storm_tell(s, EVENT_exit, i, &e);
}

static void storm_new(struct storm *s, u32 i)
{
	u32 b = next_byte(&s->bytes), leader = storm_choose_task(s);
	struct event e = { .amount = storm_weight(s) };

	if (b % 2 || !s->task[leader].threads || s->task[leader].place >= DYING)
		leader = i;
	s->task[i] = (struct storm_task){ .place = ASLEEP, .process = leader };
	s->task[leader].threads++;
	e.process = leader * s->stride;
	storm_tell(s, EVENT_new, i, &e);
}

static void storm_running(struct storm *s, u32 cpu)
{
	u32 i = s->cpu[cpu].next;
	struct event e = { .cpu = cpu };

	s->cpu[cpu].next = 0;
	s->cpu[cpu].curr = i;
	s->task[i].place = ON;
	storm_tell(s, EVENT_running, i, &e);
	s->task[i].since = s->now;
}

/* The task on a CPU comes off it. It received the time since, or less: interrupts, a hypervisor. */
static void storm_stopping(struct storm *s, u32 cpu, enum storm_place then)
{
	u32 i = s->cpu[cpu].curr, b = next_byte(&s->bytes);
	struct event e = { 0 };

	e.amount = s->now - s->task[i].since;
	if (b >= 224)
		e.amount -= e.amount / 16;
	s->cpu[cpu].curr = 0;
	s->cpu[cpu].put = then == LOCAL ? 0 : i;
	s->task[i].place = then;
	storm_tell(s, EVENT_stopping, i, &e);
}

static void storm_dispatch(struct storm *s, u32 cpu)
{
	struct storm_cpu *c = &s->cpu[cpu];
	struct event e = { .cpu = cpu };
	u32 i;

	storm_tell(s, EVENT_dispatch, 0, &e);
	i = e.id / s->stride;
	c->idle = !i && !c->curr;
	storm_kick(s, &e);
	if (i && i == c->curr)
		return;
	c->switching = c->curr;
	c->next = i;
	if (i) {
		s->task[i].place = LOCAL;
		s->task[i].cpu = cpu;
	}
}

/* ---- groups ---- */

#define STORM_GROUPS 12u /* with none */

/* A group with another weight, and if it is not used with another parent, which is one with a lesser id */
static void storm_set_group(struct storm *s, u32 group)
{
	struct event e = { .process = group, .cpu = next_byte(&s->bytes) % group, .amount = storm_weight(s) };

	storm_tell(s, EVENT_set_group, 0, &e);
}

/* All exist from the start, nested. */
static void storm_make_groups(struct storm *s)
{
	for (u32 group = 1; group < STORM_GROUPS; group++)
		storm_set_group(s, group);
}

static void storm_enter_group(struct storm *s, u32 i)
{
	struct event e = { .process = next_byte(&s->bytes) % STORM_GROUPS };

	if (s->task[i].place != ABSENT)
		storm_tell(s, EVENT_enter_group, i, &e);
}

/* ---- steps ---- */

/* What must come next for a task that is between two events; false if it is not. */
static bool storm_step_task(struct storm *s, u32 i)
{
	struct storm_task *t = &s->task[i];

	if (s->cpu[t->cpu].put == i)
		s->cpu[t->cpu].put = 0;
	switch (t->place) {
	case BOUNCED: storm_runnable(s, i); return true;
	case WAKING:
	case ASIDE:
	case STOPPED: storm_enqueue(s, i); return true;
	case BLOCKING: storm_quiescent(s, i, ASLEEP); return true;
	case DYING: storm_quiescent(s, i, DEAD); return true;
	case DEAD: storm_exit(s, i); return true;
	default: return false;
	}
}

static void storm_step_cpu(struct storm *s, u32 cpu)
{
	struct storm_cpu *c = &s->cpu[cpu];

	if (c->switching) {
		c->switching = false;
		if (c->curr)
			storm_stopping(s, cpu, STOPPED);
	} else if (c->put) {
		storm_step_task(s, c->put);
	} else if (c->next && !c->curr) {
		storm_running(s, cpu);
	} else {
		storm_dispatch(s, cpu);
	}
}

static bool storm_may_die(const struct storm *s, u32 i)
{
	return s->task[i].process != i || s->task[i].threads == 1;
}

/* Its turn goes on no longer on this CPU, but not because of a dispatch. */
static void storm_interrupt(struct storm *s, u32 cpu)
{
	struct storm_cpu *c = &s->cpu[cpu];
	bool keeps = next_byte(&s->bytes) % 2;

	if (c->curr && !c->switching) {
		u32 i = c->curr;

		storm_stopping(s, cpu, keeps ? LOCAL : STOPPED);
		if (keeps)
			c->next = i;
	} else if (c->next && !c->switching) {
		u32 i = c->next;

		c->next = 0;
		storm_enqueue(s, i);
	}
}

/* Who was stopped runs again where it was, and the machine is not asked: it may not migrate. */
static void storm_resume(struct storm *s, u32 cpu)
{
	struct storm_cpu *c = &s->cpu[cpu];
	u32 i = c->put;

	if (!i || c->curr || c->next || s->task[i].place != STOPPED)
		return;
	c->put = 0;
	c->next = i;
	s->task[i].place = LOCAL;
}

static void storm_block(struct storm *s, u32 cpu, bool dies)
{
	struct storm_cpu *c = &s->cpu[cpu];

	if (c->curr && !c->switching)
		storm_stopping(s, cpu, dies && storm_may_die(s, c->curr) ? DYING : BLOCKING);
}

static void storm_wake(struct storm *s, u32 i)
{
	if (s->task[i].place == ABSENT)
		storm_new(s, i);
	else if (s->task[i].place == ASLEEP)
		storm_runnable(s, i);
}

/* Taken out of the queue although it does not sleep, and perhaps put back. */
static void storm_bounce(struct storm *s, u32 i, bool dies)
{
	struct storm_task *t = &s->task[i];

	if (t->place != QUEUED && t->place != LOCAL)
		return;
	if (t->place == LOCAL)
		s->cpu[t->cpu].next = 0;
	storm_quiescent(s, i, dies && storm_may_die(s, i) ? DEAD : BOUNCED);
}

/* The host takes it back; what it was dispatched for is void. */
static void storm_dequeue(struct storm *s, u32 i)
{
	struct storm_task *t = &s->task[i];
	struct event e = { 0 };

	if (t->place != QUEUED && t->place != LOCAL)
		return;
	if (t->place == LOCAL)
		s->cpu[t->cpu].next = 0;
	t->place = ASIDE;
	storm_tell(s, EVENT_dequeue, i, &e);
	if (next_byte(&s->bytes) % 4 == 0)
		storm_quiescent(s, i, ASLEEP);
}

static void storm_set_param(struct storm *s)
{
	struct event e = { 0 };

	if (storm_choose_param(s, &e))
		storm_tell(s, EVENT_set_param, 0, &e);
}

static void storm_set_weight(struct storm *s, u32 i)
{
	struct event e = { .amount = storm_weight(s) };

	if (s->task[i].place != ABSENT)
		storm_tell(s, EVENT_set_weight, i, &e);
}

/* A few programs, so that they are executed again and again, and some that share both places */
static u64 storm_program(struct storm *s)
{
	u64 b = next_byte(&s->bytes) % 24;

	return b < 20 ? b << 32 | b * 3 : 0;
}

static void storm_set_program(struct storm *s, u32 i)
{
	struct event e = { .amount = storm_program(s) };

	if (s->task[i].place != ABSENT)
		storm_tell(s, EVENT_set_program, i, &e);
}

static void storm_learn(struct storm *s)
{
	u64 program = storm_program(s), n = next_byte(&s->bytes) % (FLOW_LENGTH + 2);

	for (u32 at = 0; at < n; at++) {
		struct event e = { .process = (u32)program, .why = program >> 32, .cpu = at,
				   .amount = next_u32(&s->bytes) >> 8, .slice = next_byte(&s->bytes) };

		storm_tell(s, EVENT_learn, 0, &e);
	}
}

static bool storm_allows(const struct allowed *a, u32 cpu)
{
	return a->word[cpu / 64] >> (cpu % 64) & 1;
}

static void storm_set_allowed(struct storm *s, u32 i)
{
	struct storm_task *t = &s->task[i];
	struct event e = { 0 };
	u32 cpu = storm_choose_cpu(s), bits = next_byte(&s->bytes);

	if (t->place == ABSENT)
		return;
	e.allowed.word[cpu / 64] = 1ull << (cpu % 64);
	for (u32 w = 0; w < CPU_WORDS; w++)
		e.allowed.word[w] |= bits % 4 ? bits >> 2 : 0;
	storm_tell(s, EVENT_set_allowed, i, &e);
	storm_kick(s, &e);
	if (t->place == LOCAL && !storm_allows(&e.allowed, t->cpu)) {
		s->cpu[t->cpu].next = 0;
		storm_enqueue(s, i);
	} else if (t->place == ON && !storm_allows(&e.allowed, t->cpu)) {
		storm_stopping(s, t->cpu, STOPPED);
	}
}

static void storm_yield(struct storm *s, u32 cpu)
{
	struct storm_cpu *c = &s->cpu[cpu];
	struct event e = { .cpu = cpu };

	if (!c->curr || c->switching)
		return;
	storm_tell(s, EVENT_yield, c->curr, &e);
	storm_dispatch(s, cpu);
}

static void storm_step(struct storm *s)
{
	u32 op = next_byte(&s->bytes) % 44;

	switch (op) {
	default: storm_step_cpu(s, storm_choose_cpu(s)); break;
	case 16: case 17: case 18: case 19: case 20: storm_step_task(s, storm_choose_task(s)); break;
	case 21: case 22: case 23: storm_wake(s, storm_choose_task(s)); break;
	case 24: storm_block(s, storm_choose_cpu(s), false); break;
	case 25: storm_block(s, storm_choose_cpu(s), next_byte(&s->bytes) % 2); break;
	case 26: storm_interrupt(s, storm_choose_cpu(s)); break;
	case 27: storm_bounce(s, storm_choose_task(s), next_byte(&s->bytes) % 4 == 0); break;
	case 28: storm_set_weight(s, storm_choose_task(s)); break;
	case 29: storm_set_allowed(s, storm_choose_task(s)); break;
	case 30: storm_yield(s, storm_choose_cpu(s)); break;
	case 31:
		if (s->task[op = storm_choose_task(s)].place == QUEUED)
			storm_enqueue(s, op);
		break;
	case 32: case 33: storm_dequeue(s, storm_choose_task(s)); break;
	case 34: storm_set_param(s); break;
	case 35: storm_resume(s, storm_choose_cpu(s)); break;
	case 36: storm_set_group(s, 1 + next_byte(&s->bytes) % (STORM_GROUPS - 1)); break;
	case 37: case 38: case 39: storm_enter_group(s, storm_choose_task(s)); break;
	case 40: case 41: case 42: storm_set_program(s, storm_choose_task(s)); break;
	case 43: storm_learn(s); break;
	}
}

/* ---- the calm after it ---- */

static bool storm_calm_cpu(struct storm *s, u32 cpu)
{
	struct storm_cpu *c = &s->cpu[cpu];

	if (c->idle && !c->put && !c->next && !c->curr)
		return false;
	if (c->curr && !c->switching)
		storm_block(s, cpu, false);
	else
		storm_step_cpu(s, cpu);
	return true;
}

/* Whoever runs blocks, until nobody is left; CPUs that nobody asked to dispatch stay idle. Returns a task that
 * never ran, 0 if there is none. */
static u32 storm_calm(struct storm *s)
{
	u32 rounds = 16 * (STORM_TASKS + 1), lost = 0;
	bool busy = true;

	while (busy && rounds--) {
		busy = false;
		for (u32 i = 1; i <= STORM_TASKS; i++)
			busy |= storm_step_task(s, i);
		for (u32 cpu = 0; cpu < s->ncpus; cpu++)
			busy |= storm_calm_cpu(s, cpu);
	}
	for (u32 i = 1; i <= STORM_TASKS; i++)
		if (s->task[i].place != ABSENT && s->task[i].place != ASLEEP)
			lost = i;
	return lost;
}

/* After the calm, everybody exits, first tasks of processes last. */
static void storm_end(struct storm *s)
{
	for (u32 i = 1; i <= STORM_TASKS; i++)
		if (s->task[i].place == ASLEEP && s->task[i].process != i)
			storm_exit(s, i);
	for (u32 i = 1; i <= STORM_TASKS; i++)
		if (s->task[i].place == ASLEEP)
			storm_exit(s, i);
}

#endif
