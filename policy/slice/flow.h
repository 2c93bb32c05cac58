/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * flow: a program's earlier executions say how much CPU time it will use before it next gives up the CPU. If its
 * timeslice ends when it needs but a little more, it may go on: one wait and two switches less.
 *
 * Suranauwarat, Taniguchi: "The design and implementation of an advanced knowledge-based process scheduler" (2000):
 * papers/flow.md. Of an execution it is told the program (machine_set_program) and the machine's own events.
 * Added: what it leaves open (a delay without end, a sequence without end), and its future work, early switching.
 */
#ifndef DIVVY_FLOW_H
#define DIVVY_FLOW_H

#include "../policy.h"
#include "flow/loop.h"

#define FLOW_TITLE "knowledge of programs: who will soon block runs on"

static inline void flow_init(struct flow *s)
{
	u64 slot = s->param.slot;

	/* Without a slot the modifier is off, and a host gave it no parameters. */
	if (slot)
		s->tm = (u64)s->param.Tm / slot * slot; /* (flow R2) */
}

/* ---- the paper's equations ---- */

/* (1) T_p + {(C_c - C_s) - T_p} x/100, (2) T_p - {T_p - (C_c - C_s)} y/100; rounded towards T_p (flow R4). Differences
 * beyond 2^57 ns, 4 years, count as that. */
static inline u64 flow_adjusted(u64 tp, u64 used, u64 x, u64 y)
{
	u64 difference = used > tp ? used - tp : tp - used;
	u64 percent = used > tp ? x : y, by;

	if (difference >> 57)
		difference = 1ull << 57;
	by = difference * percent / 100;
	return used > tp ? tp + by : tp - by;
}

/* T_e - (C_c - C_s) <= T_m, and not below 0: then the process may continue (flow R3). */
static inline bool flow_is_near(u64 te, u64 used, u64 tm)
{
	return te != FLOW_UNKNOWN && used <= te && te - used <= tm;
}

/* The part of the first of several timeslices that is needed, so that the run ends no later (flow R11) */
static inline u64 flow_first_slice(u64 te, u64 slice, u64 tm, u64 slot)
{
	u64 rest = te % slice;

	rest = (rest + slot - 1) / slot * slot; /* in whole timeslots, rounded up */
	return te <= slice || rest <= tm || rest > slice ? slice : rest;
}

/* ---- the logger ---- */

/* A run that nothing predicted is appended if it is the sequence's next: of the first execution, or of one that has
 * more runs than the sequence (flow R1, R7). */
static inline void flow_log(struct flow *s, u32 id, u64 used)
{
	struct flow_task *t = flow_task(s, id);
	struct flow_program *p = flow_program(s, t->program);

	if (t->off || (p->logger && p->logger != id) || t->at != p->n)
		return;
	t->logged = flow_append(s, t->program, used, 0);
	if (s->param.loop && p->n >= s->param.length)
		p->logger = 0; /* the log is full: what there is is the PFS */
}

/* It is runnable again. */
static inline void flow_wakes(struct flow *s, u32 id, u64 now)
{
	struct flow_task *t = flow_task(s, id);

	if (t->logged)
		flow_entry(s, t->chunk, t->at - 1)->wait = now - t->released;
	t->logged = 0;
}

/* ---- the process controller ---- */

/* T_e <- T_p of the entry at pfs_ptr, if there is a PFS and it has one. */
static inline void flow_expect(struct flow *s, u32 id)
{
	struct flow_task *t = flow_task(s, id);
	struct flow_program *p = flow_program(s, t->program);

	t->te = FLOW_UNKNOWN;
	if (t->program && !t->off && !p->logger && t->at < p->n)
		t->te = flow_entry(s, flow_chunk_after(s, t->program, t->chunk, t->at), t->at)->tp;
}

/* I. A process is created: it executes a program from its beginning (flow R5). `on_cpu` is what it ran since it came on
 * its CPU, which was not this program. */
static inline void flow_created(struct flow *s, u32 id, u64 identity, u64 on_cpu)
{
	struct flow_task *t = flow_task(s, id);
	u32 place = identity ? flow_find(s, identity) : 0;
	struct flow_program *p;

	if (identity && !place)
		place = flow_make_room(s, identity);
	*t = (struct flow_task){ .used = -on_cpu, .te = FLOW_UNKNOWN, .program = place, .delayed = t->delayed ? 2 : 0 };
	s->begun++;
	if (!place) {
		s->without += !!identity;
		return;
	}
	p = flow_program(s, place);
	if (!p->executing)
		flow_leave_line(s, place);
	p->executing++;
	p->begun = s->begun;
	if (!p->n && !p->logger)
		p->logger = id;
	t->off = p->logger && p->logger != id;
	flow_expect(s, id);
}

/* II. A process uses up its timeslice: whether it goes on without a switch. Once a slice (flow R3, R6). */
static inline bool flow_expires(struct flow *s, u32 id, u64 on_cpu)
{
	struct flow_task *t = flow_task(s, id);

	if (!s->tm || t->delayed || !flow_is_near(t->te, t->used + on_cpu, s->tm))
		return false;
	t->delayed = 1;
	flow_program(s, t->program)->delays++;
	return true;
}

static inline void flow_count(struct flow *s, struct flow_task *t, u64 used)
{
	u64 error = used > t->te ? used - t->te : t->te - used;

	t->actual += used;
	t->error += error;
	t->runs++;
	flow_program(s, t->program)->actual += used;
	flow_program(s, t->program)->error += error;
	flow_program(s, t->program)->runs++;
	flow_program(s, t->program)->met += t->delayed == 1;
}

/* III. A process blocks itself: T_p follows what it used, pfs_ptr goes on (flow R4). It may have come to block without
 * having run; that is no run. Also the first step of IV. */
static inline void flow_blocks(struct flow *s, u32 id, u64 now)
{
	struct flow_task *t = flow_task(s, id);
	struct flow_entry *e;

	if (!t->program || (s64)t->used <= 0)
		return;
	if (t->te != FLOW_UNKNOWN) {
		flow_count(s, t, t->used);
		e = flow_entry(s, flow_chunk_after(s, t->program, t->chunk, t->at), t->at);
		e->tp = flow_adjusted(e->tp, t->used, s->param.x, s->param.y);
	} else {
		flow_log(s, id, t->used);
	}
	t->began++;
	t->used = 0;
	t->released = now;
	flow_go_on(s, t);
	flow_expect(s, id);
}

/* IV. A process terminates, or executes another program from now on: the run in progress is its last. */
static inline void flow_terminates(struct flow *s, u32 id, u64 on_cpu, u64 now)
{
	struct flow_task *t = flow_task(s, id);
	struct flow_program *p = flow_program(s, t->program);

	if (!t->program)
		return;
	t->used += on_cpu;
	flow_blocks(s, id, now);
	if (t->began) {
		p->executions++;
		p->last_runs = t->runs;
		p->last_actual = t->actual;
		p->last_error = t->error;
	}
	if (p->logger == id)
		p->logger = 0; /* the PFS is made */
	p->executing--;
	if (!p->executing)
		flow_line_up(s, t->program);
	t->program = 0;
	t->logged = 0;
}

/* Its slice begins: how long it may last. One without end is not put off. */
static inline u64 flow_slice(struct flow *s, u32 id, u64 slice)
{
	struct flow_task *t = flow_task(s, id);
	u64 first = slice;

	t->delayed = slice == SLICE_INF ? 2 : 0;
	if (s->param.early && slice != SLICE_INF && t->program && t->te != FLOW_UNKNOWN && !t->used && slice)
		first = flow_first_slice(t->te, slice, s->tm, s->param.slot);
	if (first != slice)
		flow_program(s, t->program)->earlies++;
	return first;
}

#endif
