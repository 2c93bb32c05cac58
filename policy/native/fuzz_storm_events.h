/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The storm's small kernel: its tasks and CPUs, choices by bytes, and the events that it tells. */
#ifndef DIVVY_FUZZ_STORM_EVENTS_H
#define DIVVY_FUZZ_STORM_EVENTS_H

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
	static const s64 ranges[][3] = { POLICY_PARAMS(STORM_RANGE){ 0 } };
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
#define STORM_PARAM(name, kind, unit, dflt, min, max, help) c->policy.name = storm_param(s, dflt, min, max);
#define STORM_PROCFAIR(name, kind, unit, dflt, min, max, help) c->procfair.name = storm_param(s, dflt, min, max);
#define STORM_FEASIBLE(name, kind, unit, dflt, min, max, help) c->feasible.name = storm_param(s, dflt, min, max);
#define STORM_TFPS(name, kind, unit, dflt, min, max, help) c->tfps.name = storm_param(s, dflt, min, max);
	POLICY_PARAMS(STORM_PARAM)
	PROCFAIR_PARAMS(STORM_PROCFAIR)
	TFPS_PARAMS(STORM_TFPS)
#define STORM_FLOW(name, kind, unit, dflt, min, max, help) c->flow.name = storm_param(s, dflt, min, max);
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
	static const u64 weights[] = { WEIGHT_NICE_0, WEIGHT_NICE_0, 15 << 10, 88761 << 10, 335 << 10, WEIGHT_MIN,
				       WEIGHT_MAX,    1 << 10,       2 << 10,  3 << 10,     5 << 10,   12 << 10 };
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

/* It is gone, or MOVES. */
static void storm_exit(struct storm *s, u32 i, u32 why)
{
	struct event e = { .why = why };

	s->task[i].place = ABSENT;
	s->task[s->task[i].process].threads--;
	storm_tell(s, EVENT_exit, i, &e);
}

static void storm_fork(struct storm *s, u32 i, u32 parent)
{
	struct event e = { .process = s->task[parent].place != ABSENT ? parent * s->stride : 0 };

	if (parent != i)
		storm_tell(s, EVENT_fork, i, &e);
}

static void storm_session(struct storm *s, u32 i)
{
	struct event e = { 0 };

	if (s->task[i].place != ABSENT)
		storm_tell(s, EVENT_session, i, &e);
}

/* A task comes to be, made by another one or by nobody. */
static void storm_born(struct storm *s, u32 i, u32 leader, u64 weight, u32 parent)
{
	struct event e = { .amount = weight, .process = leader * s->stride };

	s->task[i] = (struct storm_task){ .place = ASLEEP, .process = leader };
	s->task[leader].threads++;
	storm_tell(s, EVENT_new, i, &e);
	storm_fork(s, i, parent);
}

static void storm_new(struct storm *s, u32 i)
{
	u32 b = next_byte(&s->bytes), leader = storm_choose_task(s), parent;
	u64 weight = storm_weight(s);

	if (b % 2 || !s->task[leader].threads || s->task[leader].place >= DYING)
		leader = i;
	parent = storm_choose_task(s);
	storm_born(s, i, leader, weight, parent);
	if (next_byte(&s->bytes) % 4)
		return;
	/* The fork fails, the next one goes to another machine, and the third stays. */
	storm_exit(s, i, 0);
	storm_born(s, i, leader, weight, parent);
	storm_exit(s, i, MOVES);
	storm_born(s, i, leader, weight, parent);
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
	u32 b = next_byte(&s->bytes);
	struct event e = { .process = group, .cpu = b % 4 ? group - 1 : b / 4 % group, .amount = storm_weight(s) };

	storm_tell(s, EVENT_set_group, 0, &e);
}

/* All exist from the start, nested, often deeper than a machine has levels. */
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

#endif
