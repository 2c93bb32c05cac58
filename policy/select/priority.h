/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * priority: the task with the highest priority runs. A priority is a nice value: the least is the highest.
 *
 * Cobham: "Priority Assignment in Waiting Line Problems" (Operations Research 2(1), 1954), as textbooks teach it; with aging as in
 * Kleinrock: "A Delay Dependent Queue Discipline" (Naval Research Logistics Quarterly 11, 1964): papers/priority.md.
 */
#include "../policy.h"
#include "../lib/heap.h"
#include "../lib/nice.h"

#define POLICY_TITLE "strict priorities by nice value, preemptive or not; aging if asked"
#define POLICY_BASELINE
#define POLICY_HAS SLICE | PREEMPTS | REWEIGH | PEEK | KEY

#define PRIORITY_AGING_MAX (100000 * MS)

#define POLICY_PARAMS(P) \
	P(preemptive, SWITCH, "", 1, 0, 1, "a task that wakes up takes the CPU from one of lower priority") \
	P(turns, SWITCH, "", 0, 0, 1, "tasks of one priority take turns of a quantum; else each runs until it blocks") \
	P(aging, TIME, "", 0, 0, PRIORITY_AGING_MAX, "a task that waits rises by a priority in this time; 0: never")

#define POLICY_PREEMPTS_IF(s) ((s)->param.preemptive)
#define POLICY_SHOWS(V) V("priority", "nice", (s64)task_of(s, id)->level - 20)

struct priority_task {
	u64 since;  /* when it began to wait, ns */
	u32 number; /* of that, among all; compared by signed difference */
	u32 level;  /* 0 to 39: 20 + nice, the least is the highest priority */
};

struct priority {
	POLICY_STATE;
	struct heap waiting; /* by key, equal ones as they began to wait */
	u32 numbers;         /* so far */
	TASKS(priority_task);
};

/* Without aging the level; with it the time at which the task would have begun to wait, had it the highest: since + level x aging. So two
 * tasks that wait keep their order (priority R4). */
static inline u64 priority_key(struct priority *s, u32 id)
{
	const struct priority_task *t = task_of(s, id);

	return s->param.aging ? t->since + t->level * (u64)s->param.aging : t->level;
}

static inline void priority_wait(struct priority *s, u32 id)
{
	heap_insert_ranked(&s->waiting, id, priority_key(s, id), task_of(s, id)->number);
}

/* Last among those of its priority (priority R1) */
static inline void priority_wait_anew(struct priority *s, u32 id, u64 now)
{
	task_of(s, id)->since = now;
	task_of(s, id)->number = s->numbers++;
	priority_wait(s, id);
}

static inline void priority_join(struct priority *s, u32 id, u64 now, enum why why)
{
	task_of(s, id)->level = nice_index(weight_of(&s->tasks, id));
	priority_wait_anew(s, id, now);
}

static inline void priority_leave(struct priority *s, u32 id, u64 now, enum why why)
{
	heap_remove(&s->waiting, id);
}

/* The highest priority, of equal ones the task that began to wait first (priority R1) */
static inline u32 priority_peek(struct priority *s, u32 cpu, u64 now)
{
	return heap_first(&s->waiting);
}

static inline void priority_take(struct priority *s, u32 id)
{
	heap_remove(&s->waiting, id);
}

/* A task that gave way to a higher priority keeps its place; one whose turn is over is last (priority R3). */
static inline void priority_stop(struct priority *s, u32 id, u64 now, enum why why)
{
	if (why == PREEMPTED)
		priority_wait(s, id);
	else
		priority_wait_anew(s, id, now);
}

/* With aging, too, a task that waits has to be looked at again (priority R4). */
static inline u64 priority_slice(const struct priority *s, u32 id)
{
	return s->param.turns || s->param.aging ? s->tasks.quantum : SLICE_INF;
}

/* priority R2 */
static inline bool priority_preempts(struct priority *s, u32 woken, u32 running, u64 now)
{
	return s->param.preemptive && task_of(s, woken)->level < task_of(s, running)->level;
}

/* A task whose priority changes keeps the time that it has waited (priority R5). */
static inline void priority_reweigh(struct priority *s, u32 id, u64 w, u64 now)
{
	task_of(s, id)->level = nice_index(w);
	heap_rekey_ranked(&s->waiting, id, priority_key(s, id), task_of(s, id)->number);
}

/* ---- tasks that may not run everywhere: the machine keeps these in the same order ---- */

static inline void priority_detach(struct priority *s, u32 id)
{
	heap_remove(&s->waiting, id);
}
