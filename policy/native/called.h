/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A policy whose functions are those of another language: each function of the contract calls one of a table, which Rust fills
 * (policy/src/called.rs). It is for classes and for trying things out, and no spec can name it.
 */
#include "policy.h"

#define POLICY_TITLE "a policy that is not written in C"
#define POLICY_SIMULATOR_ONLY "no kernel runs the language that it is written in"
#define POLICY_HAS CHARGE | REWEIGH | SLICE | PREEMPTS | FORK | OVERDRAWN | SESSION | BRING
#define POLICY_PREEMPTS_IF(s) ((s)->calls->has & PREEMPTS)
#define POLICY_CALLED 1

/* policy/src/called.rs mirrors it field by field. Those of POLICY_HAS are called if they are in `has`. */
struct calls {
	u64 has;
	void (*join)(void *author, u32 id, u64 now, u32 why);
	void (*leave)(void *author, u32 id, u64 now, u32 why);
	u32 (*pick)(void *author, u32 cpu, u64 now);
	void (*stop)(void *author, u32 id, u64 now, u32 why);
	void (*charge)(void *author, u32 id, u64 ran, u64 now);
	void (*reweigh)(void *author, u32 id, u64 w, u64 now);
	u64 (*slice)(void *author, u32 id);
	bool (*preempts)(void *author, u32 woken, u32 running, u64 now);
	void (*fork)(void *author, u32 id, u32 parent, u64 now);
	u64 (*overdrawn)(void *author, u32 id);
	void (*session)(void *author, u32 id, u64 now);
	void (*bring)(void *author, u32 id, u64 work);
};

struct called {
	POLICY_STATE;
	const struct calls *calls;
	void *author;
};

static inline void called_join(struct called *s, u32 id, u64 now, enum why why)
{
	s->calls->join(s->author, id, now, why);
}

static inline void called_leave(struct called *s, u32 id, u64 now, enum why why)
{
	s->calls->leave(s->author, id, now, why);
}

static inline u32 called_pick(struct called *s, u32 cpu, u64 now)
{
	return s->calls->pick(s->author, cpu, now);
}

static inline void called_stop(struct called *s, u32 id, u64 now, enum why why)
{
	s->calls->stop(s->author, id, now, why);
}

static inline void called_charge(struct called *s, u32 id, u64 ran, u64 now)
{
	if (s->calls->has & CHARGE)
		s->calls->charge(s->author, id, ran, now);
}

static inline void called_reweigh(struct called *s, u32 id, u64 w, u64 now)
{
	if (s->calls->has & REWEIGH)
		s->calls->reweigh(s->author, id, w, now);
}

static inline u64 called_slice(const struct called *s, u32 id)
{
	return s->calls->has & SLICE ? s->calls->slice(s->author, id) : s->tasks.quantum;
}

static inline bool called_preempts(struct called *s, u32 woken, u32 running, u64 now)
{
	return s->calls->preempts(s->author, woken, running, now);
}

static inline void called_fork(struct called *s, u32 id, u32 parent, u64 now)
{
	if (s->calls->has & FORK)
		s->calls->fork(s->author, id, parent, now);
}

static inline u64 called_overdrawn(struct called *s, u32 id)
{
	return s->calls->has & OVERDRAWN ? s->calls->overdrawn(s->author, id) : turn_of(&s->tasks, id);
}

static inline void called_session(struct called *s, u32 id, u64 now)
{
	if (s->calls->has & SESSION)
		s->calls->session(s->author, id, now);
}

static inline void called_bring(struct called *s, u32 id, u64 work)
{
	if (s->calls->has & BRING)
		s->calls->bring(s->author, id, work);
}

/* A policy in C reads these of the task table; policy/src/called.rs has the same list. */
enum fact {
	NCPUS,
	NRUNNABLE,
	QUANTUM,
	WEIGHT_OF,
	PROCESS_OF,
	CPU_OF,
	TURN_OF,
	DEBIT_OF,
	IS_RUNNABLE,
	IS_PICKED,
	UNCHARGED
};

static inline u64 called_fact(const struct task_table *t, u32 fact, u32 id, u64 now)
{
	switch (fact) {
	case NCPUS: return t->ncpus;
	case NRUNNABLE: return t->nrunnable;
	case QUANTUM: return t->quantum;
	case WEIGHT_OF: return weight_of(t, id);
	case PROCESS_OF: return process_of_task(t, id);
	case CPU_OF: return cpu_of(t, id);
	case TURN_OF: return turn_of(t, id);
	case DEBIT_OF: return debit_of(t, id);
	case IS_RUNNABLE: return is_runnable(t, id);
	case IS_PICKED: return is_picked(t, id);
	default: return uncharged(t, id, now);
	}
}
