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

#include "fuzz_storm_events.h"

/* ---- steps ---- */

/* The event that must come next for a task that is between two events; false if it is not. */
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
	case DEAD: storm_exit(s, i, 0); return true;
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

/* A task that was stopped runs again where it was, and the machine is not asked: it may not migrate. */
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

/* Its slice goes on no longer on this CPU, but not because of a dispatch. It may be over; then the machine says whether it goes on after
 * what comes first. */
static void storm_interrupt(struct storm *s, u32 cpu)
{
	struct storm_cpu *c = &s->cpu[cpu];
	u32 how = next_byte(&s->bytes) % 4;
	struct event e = { 0 };

	if (c->curr && !c->switching) {
		u32 i = c->curr;

		storm_stopping(s, cpu, how % 2 ? LOCAL : STOPPED);
		if (how % 2)
			c->next = i;
		if (how != 2)
			return;
		storm_tell(s, EVENT_expire, i, &e);
		if (e.slice)
			storm_resume(s, cpu);
	} else if (c->next && !c->switching) {
		u32 i = c->next;

		c->next = 0;
		storm_enqueue(s, i);
	}
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
	u64 program = storm_program(s), n = next_byte(&s->bytes) % (3 * FLOW_CHUNK);

	for (u32 at = 0; at < n; at++) {
		struct event e = { .process = (u32)program,
				   .why = program >> 32,
				   .cpu = at,
				   .amount = next_u32(&s->bytes) >> 8,
				   .slice = next_byte(&s->bytes) };

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

/* A real-time task or a kernel thread runs on the CPU, until it dispatches. */
static void storm_take_cpu(struct storm *s, u32 cpu)
{
	struct event e = { .cpu = cpu };

	s->cpu[cpu].idle = false;
	storm_tell(s, EVENT_take_cpu, 0, &e);
	storm_kick(s, &e);
}

static void storm_step(struct storm *s)
{
	u32 op = next_byte(&s->bytes) % 48;

	switch (op) {
	default: storm_step_cpu(s, storm_choose_cpu(s)); break;
	case 16 ... 20: storm_step_task(s, storm_choose_task(s)); break;
	case 21 ... 23: storm_wake(s, storm_choose_task(s)); break;
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
	case 32 ... 33: storm_dequeue(s, storm_choose_task(s)); break;
	case 34: storm_set_param(s); break;
	case 35: storm_resume(s, storm_choose_cpu(s)); break;
	case 36: storm_set_group(s, 1 + next_byte(&s->bytes) % (STORM_GROUPS - 1)); break;
	case 37 ... 39: storm_enter_group(s, storm_choose_task(s)); break;
	case 40 ... 42: storm_set_program(s, storm_choose_task(s)); break;
	case 43: storm_learn(s); break;
	case 44 ... 45: storm_session(s, storm_choose_task(s)); break;
	case 46 ... 47: storm_take_cpu(s, storm_choose_cpu(s)); break;
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

/* Every task that runs blocks, until none is left; CPUs that nobody asked to dispatch stay idle. Returns a task that
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
			storm_exit(s, i, 0);
	for (u32 i = 1; i <= STORM_TASKS; i++)
		if (s->task[i].place == ASLEEP)
			storm_exit(s, i, 0);
}

#endif
