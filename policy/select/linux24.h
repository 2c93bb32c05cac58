/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linux24: the scheduler of Linux 2.4. Each task has a number of ticks per epoch. The task with the greatest goodness
 * runs: ticks left and priority. When all tasks have used up their ticks, an epoch begins.
 *
 * The names are those of Linux 2.4, kernel/sched.c, schedule() and goodness(): papers/linux24.md.
 *
 * It follows kernel/sched.c of Linux 2.4 closely: the names and formulas of schedule() and goodness(). So it has the
 * kernel's licence, GPL-2.0-only, and no other.
 */
#include "../policy.h"
#include "../lib/nice.h"
#include "../lib/ring.h"

#define POLICY_TITLE "Linux 2.4: epochs of ticks, the greatest goodness runs"
#define POLICY_LICENSE "GPL"
#define POLICY_BASELINE
#define POLICY_LINEAR 12
#define POLICY_HAS CHARGE | REWEIGH | SLICE | PREEMPTS

#define POLICY_PARAMS(P) P(tick, TIME, "", 10 * MS, MS / 10, 1000 * MS, "what a counter of 1 is: 10 ms, HZ = 100")

#define LINUX24_SMALL 32 /* after so many halvings the counter stays the same, to a nanosecond or so */
#define LINUX24_PROC_CHANGE_PENALTY 15

struct linux24_task {
	u64 counter; /* ns, of this epoch */
	u64 epoch;   /* the epoch for which counter is right */
	bool queued;
};

struct linux24 {
	POLICY_STATE;
	struct links runqueue; /* all runnable tasks; the last to wake is first */
	u32 head;
	u64 epoch;
	u32 last[MAX_CPUS]; /* the task that ran there last */
	u32 yielded;        /* the task that has just yielded */
	u32 found;          /* scratch of the searches below */
	u32 at;
	u64 best;
	u64 left;
	TASKS(linux24_task);
};

/* 20 - nice, from 1 to 40 */
static inline u64 linux24_priority(u64 w)
{
	return 40 - nice_index(w);
}

/* NICE_TO_TICKS = ((20 - nice) >> 2) + 1, ns (linux24 R1) */
static inline u64 linux24_ticks(const struct linux24 *s, u64 w)
{
	return ((linux24_priority(w) >> 2) + 1) * s->param.tick;
}

/* ---- epochs ---- */

/* counter = (counter >> 1) + NICE_TO_TICKS(nice), for each epoch that has begun (linux24 R3) */
static NOINLINE void linux24_catch_up(struct linux24 *s, u32 id, u64 ticks)
{
	struct linux24_task *t = task_of(s, id);

	while (s->left && can_loop) {
		t->counter = t->counter / 2 + ticks;
		s->left--;
	}
}

static inline void linux24_update(struct linux24 *s, u32 id)
{
	struct linux24_task *t = task_of(s, id);
	u64 epochs = s->epoch - t->epoch;

	if (!epochs)
		return;
	t->epoch = s->epoch;
	s->left = epochs < LINUX24_SMALL ? epochs : LINUX24_SMALL;
	linux24_catch_up(s, id, linux24_ticks(s, weight_of(&s->tasks, id)));
}

/* ---- the calls ---- */

/* A task that joins is first in the run queue (linux24 R5). */
static inline void linux24_join(struct linux24 *s, u32 id, u64 now, enum why why)
{
	struct linux24_task *t = task_of(s, id);

	if (why == NEW)
		*t = (struct linux24_task){ .counter = linux24_ticks(s, weight_of(&s->tasks, id)), .epoch = s->epoch };
	linux24_update(s, id);
	t->queued = true;
	ring_push_front(&s->runqueue, &s->head, id);
}

static inline void linux24_leave(struct linux24 *s, u32 id, u64 now, enum why why)
{
	linux24_update(s, id);
	task_of(s, id)->queued = false;
	ring_remove(&s->runqueue, &s->head, id);
}

/* counter + 20 - nice; on several CPUs 15 more where its cache is warm; 1 more if it has the address space of the task
 * that ran here last; 0 without a counter (linux24 R2) */
static inline u64 linux24_goodness(struct linux24 *s, u32 id, u32 cpu)
{
	const struct task *f = &s->tasks.task[id & POOL_MASK];
	u32 last = s->last[cpu & CPU_MASK];
	u64 tick = s->param.tick, counter;

	linux24_update(s, id);
	counter = (task_of(s, id)->counter + tick - 1) / tick;
	if (!counter)
		return 0;
	if (s->tasks.ncpus > 1 && f->cpu == cpu)
		counter += LINUX24_PROC_CHANGE_PENALTY;
	if (last && s->tasks.task[last & POOL_MASK].process == f->process)
		counter++;
	return counter + linux24_priority(f->weight);
}

/* 1 + the goodness. A task that has just yielded has less than any other, once (linux24 R6). */
static inline void linux24_consider(struct linux24 *s, u32 id, u32 cpu)
{
	u64 good = id == s->yielded ? 1 : 2 + linux24_goodness(s, id, cpu);

	if (!task_of(s, id)->queued || is_picked(&s->tasks, id) || good <= s->best)
		return;
	s->best = good;
	s->found = id;
}

/* Finds the task that ran here last among equal ones, then the first of the run queue (linux24 R2). */
static NOINLINE void linux24_search(struct linux24 *s, u32 cpu)
{
	while (s->at && can_loop) {
		linux24_consider(s, s->at, cpu);
		s->at = ring_next(&s->runqueue, s->at);
		if (s->at == s->head)
			s->at = 0;
	}
}

static inline u32 linux24_choose(struct linux24 *s, u32 cpu)
{
	s->best = 0;
	s->found = 0;
	s->at = s->head;
	linux24_consider(s, s->last[cpu & CPU_MASK], cpu);
	linux24_search(s, cpu);
	return s->found;
}

/* An epoch begins if the best goodness is 0, and the choice is made again (linux24 R3). */
static inline u32 linux24_pick(struct linux24 *s, u32 cpu, u64 now)
{
	u32 id = linux24_choose(s, cpu);

	if (id && s->best == 2) {
		s->epoch++;
		id = linux24_choose(s, cpu);
	}
	s->yielded = 0;
	s->last[cpu & CPU_MASK] = id;
	return id;
}

static inline void linux24_charge(struct linux24 *s, u32 id, u64 ran, u64 now)
{
	struct linux24_task *t = task_of(s, id);

	linux24_update(s, id);
	t->counter = t->counter > ran ? t->counter - ran : 0;
}

static inline void linux24_stop(struct linux24 *s, u32 id, u64 now, enum why why)
{
	if (why == YIELDED)
		s->yielded = id;
}

static inline void linux24_reweigh(struct linux24 *s, u32 id, u64 w, u64 now)
{
	linux24_update(s, id);
}

/* A slice lasts until the counter is 0 (linux24 R4). A task that yielded may run with a counter of 0, for a tick. */
static inline u64 linux24_slice(struct linux24 *s, u32 id)
{
	u64 counter = task_of(s, id)->counter;

	return counter ? counter : s->param.tick;
}

/* A task that wakes takes the CPU if its goodness is greater by more than 1 (linux24 R5). */
static inline bool linux24_preempts(struct linux24 *s, u32 woken, u32 running, u64 now)
{
	u32 cpu = cpu_of(&s->tasks, running);

	return linux24_goodness(s, woken, cpu) > linux24_goodness(s, running, cpu) + 1;
}
