/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * flow: a program's earlier executions say how much CPU time it will use before it next gives up the CPU. If its
 * timeslice ends when it needs but a little more, it may go on: one wait and two switches less.
 *
 * Suranauwarat, Taniguchi: "The design and implementation of an advanced knowledge-based process scheduler" (2000):
 * papers/flow.md. What is told of an execution is its program (machine_set_program) and the machine's own events.
 * Added: what it leaves open (a delay without end, a sequence without end), and its future work, early switching.
 */
#ifndef DIVVY_FLOW_H
#define DIVVY_FLOW_H

#include "../policy.h"

#define FLOW_PARAMS(P) \
	P(Tm, TIME, "", 2 * MS, 0, 10000 * MS, "maximum dispatch delay, in whole timeslots (rounded down); 0 never delays") \
	P(slot, TIME, "", MS, 1000, 1000 * MS, "timeslot: what delays and early switches are multiples of") \
	P(x, INTEGER, "%", 50, 0, 100, "increase factor: part of the difference by which a T_p that was too small grows") \
	P(y, INTEGER, "%", 50, 0, 100, "decrease factor: part of the difference by which a T_p that was too great shrinks") \
	P(early, SWITCH, "", 0, 0, 1, "early switching: give up what of a run's first timeslice does not bring its end nearer")

#define FLOW_TITLE "knowledge of programs: who will soon block runs on"

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
	u64 tp;   /* T_p, ns of CPU time from one voluntary release of the CPU to the next */
	u64 wait; /* ns until it was runnable again, the first time; 0 after the last run. For people: nothing depends on it */
};

struct flow_program {
	u64 identity;    /* as the host tells programs apart; 0: the place is free */
	u64 begun;       /* the number of its latest execution, of all */
	u64 actual;      /* ns, of the runs that were predicted, together */
	u64 error;       /* ns, |actual - T_p| of each, together */
	u64 last_actual; /* the same of the execution that ended last */
	u64 last_error;
	u32 runs;        /* that were predicted */
	u32 last_runs;
	u32 executions;  /* that ended, and had a run */
	u32 executing;   /* tasks */
	u32 logger;      /* the task whose execution is being logged; 0: there is a PFS, or nobody executed it yet */
	u32 n;           /* entries */
	u32 period;      /* of the last entries, which whoever has more than FLOW_LENGTH runs repeats; 0 while it grows */
	u32 delays;      /* times that a timeslice's end was put off */
	u32 met;         /* times that the release then came before Tm was over */
	u32 earlies;     /* timeslices shortened */
};

/* A task's entry in the scheduling table, with its current information table */
struct flow_task {
	u64 used;     /* ns since its last release, in runs on a CPU that ended: what the paper takes off T_e */
	u64 te;       /* T_e, ns it is expected to use from one release to the next, or FLOW_UNKNOWN */
	u64 released; /* when it last released the CPU */
	u64 actual;   /* of this execution, as in flow_program */
	u64 error;
	u32 runs;
	u32 program;  /* 0 none */
	u32 at;       /* pfs_ptr */
	u32 began;    /* runs of this execution, predicted or not */
	u32 delayed;  /* this turn was: for this program 1, for one before an exec 2 */
	u32 waits;    /* its last run is entry waits - 1, whose wait is not known yet; else 0 */
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

static inline void flow_init(struct flow *s)
{
	u64 slot = s->param.slot;

	if (slot) /* else the modifier is off, and a host gave it no parameters */
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

/* What of the first of several timeslices is needed, so that the run ends no later (flow R11) */
static inline u64 flow_first_slice(u64 te, u64 slice, u64 tm, u64 slot)
{
	u64 rest = te % slice;

	rest = (rest + slot - 1) / slot * slot; /* in whole timeslots, rounded up */
	return te <= slice || rest <= tm || rest > slice ? slice : rest;
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

/* ---- the logger ---- */

/* A run that nothing predicted is appended if it is the sequence's next: of the first execution, or of one that has
 * more runs than the sequence (flow R1, R7). */
static inline void flow_log(struct flow *s, u32 id, u64 used)
{
	struct flow_task *t = flow_task(s, id);
	struct flow_program *p = flow_program(s, t->program);
	struct flow_entry *e;

	if ((p->logger && p->logger != id) || t->at != p->n || t->at >= FLOW_LENGTH)
		return;
	e = flow_entry(s, t->program, t->at);
	e->tp = used;
	e->wait = 0;
	p->n++;
	t->waits = p->n;
	if (p->n == FLOW_LENGTH)
		p->logger = 0; /* the log is full: what there is is the PFS */
}

/* It is runnable again. */
static inline void flow_wakes(struct flow *s, u32 id, u64 now)
{
	struct flow_task *t = flow_task(s, id);

	if (t->waits)
		flow_entry(s, t->program, t->waits - 1)->wait = now - t->released;
	t->waits = 0;
}

/* ---- the process controller ---- */

/* T_e <- T_p of the entry at pfs_ptr, if there is a PFS and it has one. */
static inline void flow_expect(struct flow *s, u32 id)
{
	struct flow_task *t = flow_task(s, id);
	struct flow_program *p = flow_program(s, t->program);

	t->te = FLOW_UNKNOWN;
	if (t->program && !p->logger && t->at < p->n && t->at < FLOW_LENGTH)
		t->te = flow_entry(s, t->program, t->at)->tp;
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
	*t = (struct flow_task){ .used = -on_cpu, .te = FLOW_UNKNOWN, .program = place,
				 .delayed = t->delayed ? 2 : 0 };
	s->begun++;
	if (!place) {
		s->without += !!identity;
		return;
	}
	p = flow_program(s, place);
	p->executing++;
	p->begun = s->begun;
	if (!p->n && !p->logger)
		p->logger = id;
	flow_expect(s, id);
}

/* II. A process uses up its timeslice: whether it goes on without a switch. Once a turn (flow R3, R6). */
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
		e = flow_entry(s, t->program, t->at);
		e->tp = flow_adjusted(e->tp, t->used, s->param.x, s->param.y);
	} else {
		flow_log(s, id, t->used);
	}
	t->began++;
	t->used = 0;
	t->released = now;
	t->at = flow_next(s, t->program, t->at);
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
	t->program = 0;
	t->waits = 0;
}

/* Its turn begins: how long it may last. */
static inline u64 flow_slice(struct flow *s, u32 id, u64 slice)
{
	struct flow_task *t = flow_task(s, id);
	u64 first = slice;

	t->delayed = 0;
	if (s->param.early && slice != SLICE_INF && t->program && t->te != FLOW_UNKNOWN && !t->used && slice)
		first = flow_first_slice(t->te, slice, s->tm, s->param.slot);
	if (first != slice)
		flow_program(s, t->program)->earlies++;
	return first;
}

#endif
