/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* flow: its parameters, and what it keeps of programs and tasks. */
#ifndef DIVVY_FLOW_STATE_H
#define DIVVY_FLOW_STATE_H

#include "../../base.h"
#include "../../lib/ring.h"

#define FLOW_PARAMS(P) \
	P(Tm, TIME, "", 2 * MS, 0, 10000 * MS, \
	  "maximum dispatch delay, in whole timeslots (rounded down); 0 never delays") \
	P(slot, TIME, "", MS, 1000, 1000 * MS, "timeslot: what delays and early switches are multiples of") \
	P(x, INTEGER, "%", 50, 0, 100, \
	  "increase factor: part of the difference by which a T_p that was too small grows") \
	P(y, INTEGER, "%", 50, 0, 100, \
	  "decrease factor: part of the difference by which a T_p that was too great shrinks") \
	P(early, SWITCH, "", 0, 0, 1, \
	  "early switching: give up what of a run's first timeslice does not bring its end nearer") \
	P(length, INTEGER, "runs", 4096, 1, 65535, "most entries of a program's sequence") \
	P(loop, SWITCH, "", 0, 0, 1, \
	  "predict a process with more runs than `length`, in its first execution too: its last runs again and again")

/* Pools: of programs, and of the entries that they share, by chunks. The same in BPF and natively, or a log could not be
 * replayed; the fuzzer's are small, so that they are full soon. */
#if POOL < 4096
#define FLOW_PROGRAMS 8u
#define FLOW_CHUNKS 8u
#else
#define FLOW_PROGRAMS 4096u
#define FLOW_CHUNKS 16384u
#endif
#define FLOW_CHUNK 16u /* entries in a chunk */
#define FLOW_PROGRAM_MASK (FLOW_PROGRAMS - 1)
#define FLOW_CHUNK_MASK (FLOW_CHUNKS - 1)
#define FLOW_ENTRY_MASK (FLOW_CHUNKS * FLOW_CHUNK - 1)
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
	u32 period;  /* of the last entries, which whoever has more than `length` runs repeats; 0: not looked for yet */
	u32 delays;  /* times that a timeslice's end was put off */
	u32 met;     /* times that the release then came before Tm was over */
	u32 earlies; /* timeslices shortened */
	u32 first;   /* chunk of entries; 0: it has none */
	u32 last;
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
	u32 chunk;   /* where the entry before it is; 0 at the first */
	u32 began;   /* runs of this execution, predicted or not */
	u32 delayed; /* this slice was: for this program 1, for one before an exec 2; 2 also if it has no end */
	u32 logged;  /* its last run is the entry before pfs_ptr, whose wait is not known yet */
	u32 off;     /* for the rest of this execution it is neither logged nor predicted */
};

struct flow {
	PARAMS(FLOW_PARAMS);
	u64 tm;      /* T_m, ns: a multiple of the timeslot */
	u64 begun;   /* executions */
	u64 without; /* executions of programs for which there was no place */
	u64 misfit;  /* results of the searches for a period */
	u64 least;
	u32 period;
	u32 at; /* scratch of searches: an entry, and its chunk */
	u32 chunk;
	u32 free;  /* chunks that a program had */
	u32 fresh; /* the last chunk that was ever taken */
	u32 idle;  /* programs with entries that nobody executes; the one executed longest ago is first */
	struct links idle_programs;
	u32 next[FLOW_CHUNKS]; /* of a program's chunks, or of those that are free */
	u32 prev[FLOW_CHUNKS];
	struct flow_program program[FLOW_PROGRAMS];
	struct flow_entry entry[FLOW_CHUNKS * FLOW_CHUNK];
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

#endif
