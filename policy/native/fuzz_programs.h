/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The fuzzer's checks of what the modifier flow keeps: programs, their entries, and who executes them. */
#ifndef DIVVY_FUZZ_PROGRAMS_H
#define DIVVY_FUZZ_PROGRAMS_H

#include "event.h"
#include "fuzz_model.h"

/* Each chunk was never taken, or is free, or one program has it. */
static void model_check_chunks(const struct flow *f)
{
	static bool seen[FLOW_CHUNKS];
	u32 n = 0;

	memset(seen, 0, sizeof(seen));
	for (u32 chunk = f->free; chunk; chunk = f->next[chunk], n++) {
		MUST(chunk < FLOW_CHUNKS && !seen[chunk], "a free chunk", chunk);
		seen[chunk] = true;
	}
	for (u32 place = 1; place < FLOW_PROGRAMS; place++) {
		const struct flow_program *p = &f->program[place];
		u32 entries = 0, last = 0;

		for (u32 chunk = p->first; chunk; last = chunk, chunk = f->next[chunk], n++) {
			MUST(chunk < FLOW_CHUNKS && !seen[chunk], "two programs have a chunk", place);
			MUST(f->prev[chunk] == last, "the chunk before", place);
			seen[chunk] = true;
			entries += FLOW_CHUNK;
		}
		MUST(p->last == last && p->n <= entries && p->n + FLOW_CHUNK > entries, "chunks of a program", place);
	}
	MUST(n == f->fresh && f->fresh < FLOW_CHUNKS, "a chunk is lost", n);
}

/* Those that nobody executes, and that have entries, are in line. */
static void model_check_line(const struct flow *f)
{
	u32 n = 0, at = f->idle;

	for (u32 place = 1; place < FLOW_PROGRAMS; place++)
		n += f->program[place].first && !f->program[place].executing;
	for (u32 i = 0; i < n; i++, at = ring_next(&f->idle_programs, at))
		MUST(f->program[at].first && !f->program[at].executing, "in line and executed", at);
	MUST(at == f->idle && !n == !f->idle, "programs in line", n);
}

/* Each is executed by as many tasks as it says, and its sequence is in its place. */
static void model_check_programs(struct flow *f)
{
	static u32 executing[FLOW_PROGRAMS];

	memset(executing, 0, sizeof(executing));
	for (u32 id = 1; id < POOL; id++) {
		const struct flow_task *t = &f->task[id];
		u32 chunk = 0;

		executing[t->program]++;
		MUST(t->program < FLOW_PROGRAMS && (!t->program || t->at <= f->program[t->program].n), "pfs_ptr", id);
		MUST(model.task[id].known || !t->program, "a task that is gone executes", id);
		for (u32 at = 0; t->program && at < t->at; at++)
			chunk = flow_chunk_after(f, t->program, chunk, at);
		MUST(!t->program || t->chunk == chunk, "the chunk of pfs_ptr", id);
	}
	for (u32 place = 1; place < FLOW_PROGRAMS; place++) {
		const struct flow_program *p = &f->program[place];

		MUST(p->executing == executing[place], "tasks that execute a program", place);
		MUST(p->period <= FLOW_PERIODS, "a period", place);
		MUST(!p->logger || f->task[p->logger].program == place, "who is logged executes the program", place);
		MUST(p->met <= p->delays, "delays met", place);
	}
	model_check_chunks(f);
	model_check_line(f);
}

#endif
