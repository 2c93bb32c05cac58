/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Everything that must be true after every event: machine.h's M1 to M7, and the weights, worked out the slow way from
 * the fuzzer's own model.
 */
#ifndef DIVVY_FUZZ_CHECK_H
#define DIVVY_FUZZ_CHECK_H

#include "event.h"
#include "fuzz_forks.h"
#include "fuzz_model.h"
#include "fuzz_programs.h"
#include "fuzz_weights.h"

/* ---- tasks and CPUs ---- */

static bool model_allows(const struct model_task *t, u32 cpu)
{
	return !t->pinned || t->allowed[cpu / 64] >> (cpu % 64) & 1;
}

static void model_check_charges(u32 id, u64 carried)
{
	const struct model_task *t = &model.task[id];
	s64 due = (s64)(t->received - t->charged);

	if (t->on)
		return;
	MUST((u64)due == -carried, "M6: service received, charged and carried over", id);
	MUST(t->moved || due <= (s64)t->late + CLOCK_SKEW, "M6: service was not charged", id);
	MUST(-due <= (s64)t->stolen + CLOCK_SKEW, "M6: more charged than received", id);
}

/* The policy is not told of a task apart, so this is the machine's own record of it. */
static void model_read_apart(const struct task_table *f, u32 id)
{
	struct model_task *t = &model.task[id];

	if (!model_is_apart(t))
		return;
	t->told = f->task[id].weight;
	t->turn = f->task[id].turn;
	t->charged = t->received + f->task[id].charged;
}

/* The slice of a task apart that leaves is charged in full. */
static void model_settle_apart(struct model_task *t, u32 id)
{
	u64 due = model_received(t) - t->charged;

	if (!model_is_apart(t) || !t->on || !model_has_cpu(id) || (s64)due <= 0)
		return;
	t->turn += due;
	t->charged += due;
}

/* `slices`: on how many CPUs it has one. */
static void model_check_task(const struct task_table *f, u32 id, u32 slices)
{
	const struct model_task *t = &model.task[id];
	u16 state = f->task[id].state;

	MUST(slices <= 1, "M1: a task has its slice on two CPUs", id);
	MUST(!slices || t->runnable, "M2: a task that is not runnable has a slice", id);
	MUST((t->seat == OUT) == (!t->runnable || model_is_apart(t)), "M7: the policy has what is runnable", id);
	MUST(!(state & PICKED) == (t->seat != HAS_SLICE) || model_is_apart(t),
	     "M7: the machine and the policy agree on slices", id);
	MUST(!(state & PARKED) == !(state & PICKED && !slices), "M3: picked and without a CPU is parked", id);
	MUST(!slices || state & PICKED, "M1: what has its slice is picked", id);
	MUST(!(state & PARKED) || t->runnable, "M3: parked and not runnable", id);
	MUST(!slices || f->picked[f->task[id].cpu] == id, "M1: a slice's CPU", id);
	if (!t->known)
		return;
	if (!model_is_apart(t))
		model_check_charges(id, f->task[id].charged);
	if (!t->on && t->received == t->charged)
		model.task[id].moved = false;
	MUST(f->task[id].debit == t->debit, "what a forked task owes", id);
}

static bool model_is_promised(u32 id)
{
	for (u32 cpu = 0; cpu < model.ncpus; cpu++)
		if (model.promised[cpu] == id && model_allows(&model.task[id], cpu))
			return true;
	return false;
}

/* `waiting` are the `n` tasks that wait for a CPU. */
static void model_check_cpu(const struct task_table *f, u32 cpu, const u32 *waiting, u32 n)
{
	MUST(f->picked[cpu] == model.slice_of[cpu], "M1: whose turn it is", cpu);
	for (u32 i = 0; model.idle[cpu] && i < n; i++)
		MUST(!model_allows(&model.task[waiting[i]], cpu) || model_is_promised(waiting[i]),
		     "M5: idle beside a waiting task", cpu);
}

/* Added up from what the policy was told, task by task */
static void model_check_sum(const struct task_table *f, const u16 *slices)
{
	u64 due = 0;

	for (u32 id = 1; id < POOL; id++) {
		const struct model_task *t = &model.task[id];

		if (slices[id] && t->on && !model_is_apart(t))
			due += model_received(t) - t->charged;
	}
	MUST(uncharged_of_all(f, model.now) == due, "uncharged_of_all", 0);
}

static void model_check(const struct task_table *f, u64 faults)
{
	u16 slices[POOL] = { 0 };
	u32 waiting[POOL], nwaiting = 0;
	u32 n = 0;

	for (u32 cpu = 0; cpu < model.ncpus; cpu++)
		slices[model.slice_of[cpu]]++;
	if (POLICY_SUMS_UNCHARGED)
		model_check_sum(f, slices);
	for (u32 id = 1; id < POOL; id++) {
		model_read_apart(f, id);
		model_check_task(f, id, slices[id]);
		n += model.task[id].runnable;
		if (model.task[id].custody)
			waiting[nwaiting++] = id;
	}
	MUST(f->nrunnable == n, "number of runnable tasks", n);
	for (u32 cpu = 0; cpu < model.ncpus; cpu++)
		model_check_cpu(f, cpu, waiting, nwaiting);
	MUST(!faults, "M4: the policy named a task that it may not", 0);
}

/* ---- entitlement ---- */

#define MODEL_SHIFT 32

/* The entitled service of all runnable tasks until now: each a CPU, or its part of them by weight. Rounded down once an
 * event, by 2^-32 ns. */
static void model_serve(u64 now)
{
	unsigned __int128 dt = now - model.now, total = 0;
	u32 n = 0;

	for (u32 id = 1; id < POOL; id++) {
		n += model.task[id].runnable;
		total += model.task[id].runnable ? model.task[id].told : 0;
	}
	for (u32 id = 1; id < POOL; id++) {
		struct model_task *t = &model.task[id];

		if (!t->runnable)
			continue;
		if (n <= model.ncpus)
			t->entitled += dt << MODEL_SHIFT;
		else
			t->entitled += (dt * model.ncpus * t->told << MODEL_SHIFT) / total;
		/* entitled.h rounds V, in 2^-16 ns a weight of 1, when the total changes and when it is read, and the
		 * service to ns. */
		t->blur += ((unsigned __int128)2 * t->told << (MODEL_SHIFT - 16)) + (2ull << MODEL_SHIFT);
	}
}

/* It was settled just now. */
static void model_check_entitled(const struct model_task *t, u64 service, u32 id)
{
	unsigned __int128 is = (unsigned __int128)service << MODEL_SHIFT;

	MUST(is <= t->entitled + t->blur, "entitled to too much", id);
	MUST(is + t->blur >= t->entitled, "entitled to too little", id);
}

/* ---- events ---- */

/* Nobody is told that the slice of a task apart is over, but the answers show it. */
static void model_end_turn_apart(u32 id)
{
	if (id && model_is_apart(&model.task[id]))
		model.task[id].ended = model.now;
}

static void model_end_turn(u32 id)
{
	for (u32 cpu = 0; cpu < model.ncpus; cpu++)
		if (model.slice_of[cpu] == id) {
			model.slice_of[cpu] = 0;
			model_end_turn_apart(id);
		}
}

static void model_stopping(u32 id, u64 ran)
{
	struct model_task *t = model_task(id);
	u64 on = model.now - t->since;

	t->on = false;
	t->received += ran;
	if (on > ran && on - ran > t->stolen)
		t->stolen = on - ran;
	t->late = model_has_cpu(id) ? 0 : model.now - t->ended;
}

static void model_new(const struct event *e)
{
	model_orphan(e->id);
	*model_task(e->id) = (struct model_task){
		.known = true, .process = e->process, .nominal = e->amount, .heaviest = e->amount
	};
}

static void model_set_group(const struct event *e)
{
	typeof(&model.group[0]) g = &model.group[e->process], around = &model.group[e->cpu];

	/* Without +groups the machine does not count members, and the storm moves groups that have some. */
	if (!(model.modifiers & GROUPS) || !model_members_below(e->process)) {
		g->parent = e->cpu;
		g->level = around->level + 1;
		g->joins = g->level > 8 ? around->joins : e->process;
	}
	g->weight = e->amount;
}

/* The policy loses or gets a task that comes apart or comes back. Its slice ends, also if it goes from a few CPUs to others. */
static void model_set_allowed(struct model_task *t, const struct event *e)
{
	bool free = model_is_free(t);
	bool same = t->pinned && !memcmp(t->allowed, e->allowed.word, sizeof(t->allowed));

	model_settle_apart(t, e->id);
	t->pinned = true;
	memcpy(t->allowed, e->allowed.word, sizeof(t->allowed));
	t->moving = model.keeps_apart && !same && !(free && model_is_free(t));
	t->moved |= t->moving;
	if (t->moving)
		model_end_turn(e->id);
}

/* The event is about to be told. */
static void model_before(enum event_kind kind, const struct event *e)
{
	struct model_task *t = e->id ? model_task(e->id) : NULL;

	model.events++;
	if (e->now > model.now) {
		model_serve(e->now);
		model.now = e->now;
	}
	switch (kind) {
	case EVENT_new: model_new(e); break;
	case EVENT_fork: model_forked(t, e->process, model.quantum); break;
	case EVENT_runnable: t->runnable = t->member = true; break;
	case EVENT_quiescent: model_settle_apart(t, e->id); break;
	case EVENT_dispatch:
	case EVENT_expire: model.stops_before = model.stops; break;
	case EVENT_running:
		t->on = true;
		t->since = model.now;
		break;
	case EVENT_stopping: model_stopping(e->id, e->amount); break;
	case EVENT_set_weight:
		t->nominal = e->amount;
		t->heaviest = t->heaviest > e->amount ? t->heaviest : e->amount;
		break;
	case EVENT_set_allowed: model_set_allowed(t, e); break;
	case EVENT_set_group: model_set_group(e); break;
	case EVENT_enter_group: t->group = model.group[e->process].joins; break;
	default: break;
	}
}

/* The answer asks a CPU to dispatch because of a task. */
static void model_kicked(u32 cpu, u32 id)
{
	if (cpu == NO_CPU)
		return;
	MUST(cpu < model.ncpus, "asked a CPU that does not exist", cpu);
	if (model.idle[cpu])
		model.promised[cpu] = id;
	model.idle[cpu] = false;
}

/* A slice that was over and did not end: only +flow does that, once, and for no longer than it may. */
static void model_check_delay(const struct event *e)
{
	struct model_task *t = model_task(e->id);

	if (model_is_apart(t)) /* nobody is told of the end of its slice */
		return;
	MUST(model.modifiers & FLOW, "a slice goes on without +flow", e->id);
	MUST(!t->delayed, "the end of a slice is put off twice", e->id);
	MUST(e->slice == model.tm && e->slice, "the end of a slice is put off for another time than Tm", e->id);
	t->delayed = true;
}

/* Off its CPU, and that does not dispatch */
static void model_expired(const struct event *e)
{
	if (!e->slice) {
		model_end_turn(e->id);
		return;
	}
	MUST(model_has_cpu(e->id), "a slice goes on that it does not have", e->id);
	MUST(!model_task(e->id)->on, "a slice goes on that is not over", e->id);
	MUST(model.stops == model.stops_before, "a slice goes on that has ended", e->id);
	model_check_delay(e);
}

/* Something else runs on the CPU: the task for which it was woken may be promised another. */
static void model_taken(u32 cpu, const struct event *e)
{
	u32 promised = model.promised[cpu];

	model.idle[cpu] = false;
	model.promised[cpu] = 0;
	model_kicked(e->cpu, promised);
}

static void model_dispatched(u32 cpu, const struct event *e)
{
	struct model_task *t;
	u32 promised = model.promised[cpu];

	if (e->id && model.slice_of[cpu] == e->id && model.stops == model.stops_before) {
		MUST(model_task(e->id)->on || model_is_apart(model_task(e->id)), "a slice goes on that does not run",
		     e->id);
		model_check_delay(e);
	}
	model_end_turn_apart(model.slice_of[cpu]);
	model.slice_of[cpu] = e->id;
	model.idle[cpu] = !e->id;
	model.promised[cpu] = 0;
	model_kicked(e->cpu, promised);
	if (!e->id)
		return;
	t = model_task(e->id);
	MUST(t->custody || t->on, "dispatched without custody", e->id);
	MUST(model_allows(t, cpu), "dispatched where it may not run", e->id);
	MUST(!model_is_apart(t) || model.modifiers & FLOW || e->slice == model.quantum,
	     "another slice than a quantum for a task apart", e->id);
	t->custody = false;
	if (!t->delayed)
		t->turn = 0;
}

/* The event was told, and answered. */
static void model_after(enum event_kind kind, u32 cpu, const struct event *e)
{
	struct model_task *t = e->id ? model_task(e->id) : NULL;

	switch (kind) {
	case EVENT_exit:
		if (e->why != MOVES)
			model_vanishes(t);
		memset(t, 0, sizeof(*t));
		break;
	case EVENT_quiescent:
		if (t->runnable && e->why == EXITED)
			model_exits(t);
		t->runnable = t->custody = false;
		if (model_is_apart(t))
			t->member = false;
		model_end_turn(e->id);
		break;
	case EVENT_enqueue:
		t->custody = true;
		model_end_turn(e->id);
		model_kicked(e->cpu, e->id);
		break;
	case EVENT_dequeue:
		t->custody = false;
		if (!t->on) /* the CPU for which it was picked will not have it */
			model_end_turn(e->id);
		break;
	case EVENT_set_allowed:
		t->moving = false;
		model_kicked(e->cpu, e->id);
		break;
	case EVENT_dispatch: model_dispatched(cpu, e); break;
	case EVENT_take_cpu: model_taken(cpu, e); break;
	case EVENT_expire: model_expired(e); break;
	default: break;
	}
}

#endif
