/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* flow: what is known of programs, a sequence of runs for each. */
#ifndef DIVVY_FLOW_PROGRAMS_H
#define DIVVY_FLOW_PROGRAMS_H

#include "../../base.h"

#define FLOW_PARAMS(P) \
	P(Tm, TIME, "", 2 * MS, 0, 10000 * MS, \
	  "maximum dispatch delay, in whole timeslots (rounded down); 0 never delays") \
	P(slot, TIME, "", MS, 1000, 1000 * MS, "timeslot: what delays and early switches are multiples of") \
	P(x, INTEGER, "%", 50, 0, 100, \
	  "increase factor: part of the difference by which a T_p that was too small grows") \
	P(y, INTEGER, "%", 50, 0, 100, \
	  "decrease factor: part of the difference by which a T_p that was too great shrinks") \
	P(early, SWITCH, "", 0, 0, 1, \
	  "early switching: give up what of a run's first timeslice does not bring its end nearer")

/* Pools: of programs, and of as many entries for each. The same in BPF and natively, or a log could not be replayed;
 * the fuzzer's are small, so that they are full soon. */
#if POOL < 4096
#define FLOW_PROGRAMS 8u
#define FLOW_LENGTH 16u
#else
#define FLOW_PROGRAMS 4096u
#define FLOW_LENGTH 64u
#endif
#define FLOW_PROGRAM_MASK (FLOW_PROGRAMS - 1)
#define FLOW_ENTRY_MASK (FLOW_PROGRAMS * FLOW_LENGTH - 1)
#define FLOW_PERIODS 8u
#define FLOW_UNKNOWN (~0ull)

/* An entry of a PFS (program flow sequence): a run, and the wait that followed */
struct flow_entry {
	u64 tp; /* T_p, ns of CPU time from one voluntary release of the CPU to the next */
	u64 wait; /* ns until it was runnable again, the first time; 0 after the last run. For people: nothing depends on it */
};

struct flow_program {
	u64 identity;    /* as the host tells programs apart; 0: the place is free */
	u64 begun;       /* the number of its latest execution, of all */
	u64 actual;      /* ns, of the runs that were predicted, together */
	u64 error;       /* ns, |actual - T_p| of each, together */
	u64 last_actual; /* the same of the execution that ended last */
	u64 last_error;
	u32 runs; /* that were predicted */
	u32 last_runs;
	u32 executions; /* that ended, and had a run */
	u32 executing;  /* tasks */
	u32 logger;     /* the task whose execution is being logged; 0: there is a PFS, or nobody executed it yet */
	u32 n;          /* entries */
	u32 period;  /* of the last entries, which whoever has more than FLOW_LENGTH runs repeats; 0 while it grows */
	u32 delays;  /* times that a timeslice's end was put off */
	u32 met;     /* times that the release then came before Tm was over */
	u32 earlies; /* timeslices shortened */
};

/* A task's entry in the scheduling table, with its current information table */
struct flow_task {
	u64 used;     /* ns since its last release, in runs on a CPU that ended: what the paper takes off T_e */
	u64 te;       /* T_e, ns it is expected to use from one release to the next, or FLOW_UNKNOWN */
	u64 released; /* when it last released the CPU */
	u64 actual;   /* of this execution, as in flow_program */
	u64 error;
	u32 runs;
	u32 program; /* 0 none */
	u32 at;      /* pfs_ptr */
	u32 began;   /* runs of this execution, predicted or not */
	u32 delayed; /* this slice was: for this program 1, for one before an exec 2 */
	u32 waits;   /* its last run is entry waits - 1, whose wait is not known yet; else 0 */
};

struct flow {
	PARAMS(FLOW_PARAMS);
	u64 tm;      /* T_m, ns: a multiple of the timeslot */
	u64 begun;   /* executions */
	u64 without; /* executions of programs for which there was no place */
	u64 misfit;  /* results of the searches below */
	u64 least;
	u32 at;
	u32 period;
	struct flow_program program[FLOW_PROGRAMS];
	struct flow_entry entry[FLOW_PROGRAMS * FLOW_LENGTH];
	struct flow_task task[POOL];
};

static inline struct flow_program *flow_program(struct flow *s, u32 program)
{
	return &s->program[program & FLOW_PROGRAM_MASK];
}

static inline struct flow_task *flow_task(struct flow *s, u32 id)
{
	return &s->task[id & POOL_MASK];
}

static inline struct flow_entry *flow_entry(struct flow *s, u32 program, u32 at)
{
	return &s->entry[(program * FLOW_LENGTH + at) & FLOW_ENTRY_MASK];
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
	*flow_program(s, place) = (struct flow_program){ .identity = identity };
	return place;
}

/* An entry of an earlier run of the machine: they are told in order, from the first (flow R10). */
static inline void flow_learn(struct flow *s, u64 identity, u32 at, u64 tp, u64 wait)
{
	u32 place = identity ? flow_find(s, identity) : 0;
	struct flow_program *p;
	struct flow_entry *e;

	if (identity && !place && at == 0)
		place = flow_make_room(s, identity);
	p = flow_program(s, place);
	if (!place || p->executing || at != p->n || at >= FLOW_LENGTH)
		return;
	e = flow_entry(s, place, at);
	e->tp = tp;
	e->wait = wait;
	p->n++;
}

/* ---- sequences without end ---- */

/* How much the second half of a full sequence differs from itself `period` runs before, into misfit */
static NOINLINE void flow_compare(struct flow *s, u32 program, u32 period)
{
	while (s->at < FLOW_LENGTH && can_loop) {
		u64 now = flow_entry(s, program, s->at)->tp, then = flow_entry(s, program, s->at - period)->tp;

		s->misfit += (now > then ? now - then : then - now) >> 6; /* no sum overflows */
		s->at++;
	}
}

/* The period with the least misfit, the shortest of several, into period */
static NOINLINE void flow_find_period(struct flow *s, u32 program)
{
	while (s->period < FLOW_PERIODS && can_loop) {
		s->period++;
		s->misfit = 0;
		s->at = FLOW_LENGTH / 2;
		flow_compare(s, program, s->period);
		if (s->misfit < s->least) {
			s->least = s->misfit;
			flow_program(s, program)->period = s->period;
		}
	}
}

/* After the last entry of a full sequence come its last `period` ones again (flow R8). */
static inline u32 flow_next(struct flow *s, u32 program, u32 at)
{
	struct flow_program *p = flow_program(s, program);

	if (at + 1 < FLOW_LENGTH)
		return at + 1;
	if (p->n < FLOW_LENGTH)
		return FLOW_LENGTH; /* nowhere: it had more runs than those that were logged at the time */
	if (!p->period) {
		p->period = 1;
		s->least = FLOW_UNKNOWN;
		s->period = 0;
		flow_find_period(s, program);
	}
	return FLOW_LENGTH - p->period;
}

#endif
