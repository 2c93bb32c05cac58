/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* flow: what is known of programs, a sequence of runs for each, in chunks that they share. */
#ifndef DIVVY_FLOW_PROGRAMS_H
#define DIVVY_FLOW_PROGRAMS_H

#include "state.h"

/* ---- entries ---- */

/* Entry `at` of a program, in the chunk where it is */
static inline struct flow_entry *flow_entry(struct flow *s, u32 chunk, u32 at)
{
	return &s->entry[(chunk * FLOW_CHUNK + at % FLOW_CHUNK) & FLOW_ENTRY_MASK];
}

/* The chunk of entry `at`, from the one of the entry before it */
static inline u32 flow_chunk_after(struct flow *s, u32 program, u32 chunk, u32 at)
{
	if (at % FLOW_CHUNK)
		return chunk;
	return at ? s->next[chunk & FLOW_CHUNK_MASK] : flow_program(s, program)->first;
}

/* The chunk of entry `at`, from the one of the entry `back` later, a few */
static inline u32 flow_chunk_before(struct flow *s, u32 chunk, u32 at, u32 back)
{
	return at / FLOW_CHUNK == (at + back) / FLOW_CHUNK ? chunk : s->prev[chunk & FLOW_CHUNK_MASK];
}

/* From a program's first entry to entry s->at, whose chunk is then s->chunk */
static NOINLINE void flow_seek(struct flow *s, u32 program)
{
	s->chunk = flow_program(s, program)->first;
	while (s->at >= FLOW_CHUNK && can_loop) {
		s->chunk = s->next[s->chunk & FLOW_CHUNK_MASK];
		s->at -= FLOW_CHUNK;
	}
}

/* ---- programs ---- */

/* A program has two places where it can be. Place 0 is nobody's. */
static inline u32 flow_place(u64 bits)
{
	u32 place = bits & FLOW_PROGRAM_MASK;

	return place ? place : 1;
}

static inline u32 flow_find(struct flow *s, u64 identity)
{
	u32 a = flow_place(identity), b = flow_place(identity >> 32);

	if (flow_program(s, a)->identity == identity)
		return a;
	return flow_program(s, b)->identity == identity ? b : 0;
}

/* While nobody executes it, a program with entries is in line to be forgotten. */
static inline void flow_line_up(struct flow *s, u32 program)
{
	if (flow_program(s, program)->first)
		ring_push_back(&s->idle_programs, &s->idle, program);
}

static inline void flow_leave_line(struct flow *s, u32 program)
{
	if (flow_program(s, program)->first)
		ring_remove(&s->idle_programs, &s->idle, program);
}

/* A program that nobody executes: its chunks are free. */
static NOINLINE void flow_forget(struct flow *s, u32 program)
{
	struct flow_program *p = flow_program(s, program);

	flow_leave_line(s, program);
	if (p->first) {
		s->next[p->last & FLOW_CHUNK_MASK] = s->free;
		s->free = p->first;
	}
	*p = (struct flow_program){ .identity = 0 };
}

/* Room for one that is in neither: the place of what was executed longest ago; 0 if both are being executed
 * (flow R9). */
static inline u32 flow_make_room(struct flow *s, u64 identity)
{
	u32 a = flow_place(identity), b = flow_place(identity >> 32), place = a;

	if (flow_program(s, a)->executing)
		place = b;
	else if (!flow_program(s, b)->executing && flow_program(s, b)->begun < flow_program(s, a)->begun)
		place = b;
	if (flow_program(s, place)->executing)
		return 0;
	flow_forget(s, place);
	flow_program(s, place)->identity = identity;
	return place;
}

/* A chunk into s->chunk: one that no program has, or of the program executed longest ago; 0 if all are being executed
 * (flow R9). */
static NOINLINE void flow_take_chunk(struct flow *s)
{
	if (!s->free && s->fresh < FLOW_CHUNKS - 1) {
		s->chunk = ++s->fresh;
		return;
	}
	if (!s->free && s->idle)
		flow_forget(s, s->idle);
	s->chunk = s->free;
	s->free = s->next[s->free & FLOW_CHUNK_MASK];
}

/* Another entry at the end of a program's sequence, unless there is no room (flow R1, R8) */
static NOINLINE bool flow_append(struct flow *s, u32 program, u64 tp, u64 wait)
{
	struct flow_program *p = flow_program(s, program);
	struct flow_entry *e;

	if (p->n >= s->param.length)
		return false;
	if (p->n % FLOW_CHUNK == 0) {
		flow_take_chunk(s);
		if (!s->chunk)
			return false;
		s->prev[s->chunk & FLOW_CHUNK_MASK] = p->last;
		s->next[s->chunk & FLOW_CHUNK_MASK] = 0;
		if (p->last)
			s->next[p->last & FLOW_CHUNK_MASK] = s->chunk;
		else
			p->first = s->chunk;
		p->last = s->chunk;
	}
	e = flow_entry(s, p->last, p->n);
	e->tp = tp;
	e->wait = wait;
	p->n++;
	return true;
}

/* An entry of an earlier run of the machine: they are told in order, from the first (flow R10). */
static inline void flow_learn(struct flow *s, u64 identity, u32 at, u64 tp, u64 wait)
{
	u32 place = identity ? flow_find(s, identity) : 0;
	struct flow_program *p;

	if (identity && !place && at == 0)
		place = flow_make_room(s, identity);
	p = flow_program(s, place);
	if (!place || p->executing || at != p->n)
		return;
	flow_leave_line(s, place);
	flow_append(s, place, tp, wait);
	flow_line_up(s, place);
}

#endif
