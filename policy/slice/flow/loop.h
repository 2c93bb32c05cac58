/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* flow: the way from entry to entry, and sequences without end. */
#ifndef DIVVY_FLOW_LOOP_H
#define DIVVY_FLOW_LOOP_H

#include "programs.h"

#define FLOW_PERIODS 8u
#define FLOW_COMPARED 32u /* entries */

/* How much a sequence's last entries differ from those `period` before, into misfit. The entry looked at is s->at. */
static NOINLINE void flow_compare(struct flow *s, u32 period, u32 n)
{
	while (s->at >= period && s->at + FLOW_COMPARED >= n && can_loop) {
		u32 then = flow_chunk_before(s, s->chunk, s->at - period, period);
		u64 a = flow_entry(s, s->chunk, s->at)->tp, b = flow_entry(s, then, s->at - period)->tp;

		s->misfit += (a > b ? a - b : b - a) >> 6; /* no sum overflows */
		s->chunk = flow_chunk_before(s, s->chunk, s->at - 1, 1);
		s->at--;
	}
}

/* The period with the least misfit, the shortest of several, into period */
static NOINLINE void flow_find_period(struct flow *s, u32 program)
{
	struct flow_program *p = flow_program(s, program);

	while (s->period < FLOW_PERIODS && s->period + 1 < p->n && can_loop) {
		s->period++;
		s->misfit = 0;
		s->at = p->n - 1;
		s->chunk = p->last;
		flow_compare(s, s->period, p->n);
		if (s->misfit < s->least) {
			s->least = s->misfit;
			p->period = s->period;
		}
	}
}

/* After the last entry of a full sequence come its last `period` ones again (flow R8). */
static inline void flow_repeat(struct flow *s, struct flow_task *t)
{
	struct flow_program *p = flow_program(s, t->program);

	if (!p->period) {
		p->period = 1;
		s->least = FLOW_UNKNOWN;
		s->period = 0;
		flow_find_period(s, t->program);
	}
	t->at = p->n - p->period;
	t->chunk = t->at ? flow_chunk_before(s, p->last, t->at - 1, p->period) : 0;
	t->logged = 0;
}

/* To the next entry. Whoever has more runs than there are entries, and room for, is not predicted any more, unless
 * loop=1 (flow R7, R8). */
static inline void flow_go_on(struct flow *s, struct flow_task *t)
{
	struct flow_program *p = flow_program(s, t->program);

	if (t->off || t->at >= p->n) {
		t->off = 1;
		return;
	}
	t->chunk = flow_chunk_after(s, t->program, t->chunk, t->at);
	t->at++;
	if (s->param.loop && t->at == p->n && p->n >= s->param.length)
		flow_repeat(s, t);
}

#endif
