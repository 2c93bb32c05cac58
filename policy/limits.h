/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Limits of CPU time on groups, as `cpu.max` of cgroups: a group, with all groups in it, gets at most `quota` ns of CPU time in
 * each `period` (groups R7..R10).
 *
 * The machine knows nothing of limits. A task that may not run, because a group around it has used up its quota, is for the machine one
 * that blocks; when a new period begins it is one that wakes. So selections, modifiers and the log of decisions are as they are
 * without limits. This file says who may run and for how long, and keeps those that may not; a host tells the machine:
 *
 *   a task is enqueued            limits_look; if a group is used up: quiescent if it is runnable, limits_hold
 *   dispatch answered a task      the same, and dispatch again; else limits_take, which cuts the slice
 *   a task is off its CPU         limits_off
 *   a period ends                 limits_next, then for each task runnable, enqueue; what it names may go on
 *
 * The time of a slice is taken when it begins, from each group around the task, and what it did not use is given back. So CPUs that
 * run tasks of a group at once do not use more together than is left. What a task ran beyond its slice, because it had to end
 * at a tick, is debt: the next period has that much less.
 *
 * A group looks at its period when one of its tasks is looked at. A task is looked at when it is its turn, so a group that is used up
 * costs nothing at that moment, however many tasks wait in it. Each step is O(depth), which is at most GROUP_LEVELS.
 */
#ifndef DIVVY_LIMITS_H
#define DIVVY_LIMITS_H

#include "machine.h"

/* A group that did not run for so many periods is as new. */
#define LIMIT_PERIODS (1u << 20)

struct limit {
	u64 quota;     /* ns in each period; 0: no limit */
	u64 period;    /* ns */
	u64 burst;     /* ns that it may save up, beside its quota */
	s64 left;      /* ns of this period, without what running slices have taken; negative: debt */
	u64 ends;      /* when the period ends */
	u32 first;     /* of the tasks that are held because of it, a ring in the order in which they were */
	u32 place;     /* in the queue, if there are any */
	u64 since;     /* when the first of them was held */
	u64 throttles; /* times that it was used up while a task wanted to run; for people */
	u64 throttled; /* ns for which tasks were held */
};

struct limits {
	bool on; /* there was a limit at least once */
	struct limit group[MAX_GROUPS];
	struct links links;
	u32 queue[MAX_GROUPS]; /* groups with tasks that are held */
	u32 nqueue;
	u32 nheld;        /* tasks */
	u32 held[POOL];   /* the group because of which each task is held, or 0 */
	bool fresh[POOL]; /* it was not runnable before */
	s64 taken[POOL];  /* ns, for its slice */
	s64 used[POOL];   /* ns of these, in runs that are over */

	/* Scratch */
	u32 at;
	u32 found;  /* a group around the task that is used up, or 0 */
	u64 room;   /* ns that the task may run */
	bool moved; /* a task is held for another group now */
	s64 by;
};

static inline bool limits_holds(const struct limits *l, u32 id)
{
	return l->held[id & POOL_MASK];
}

/* ---- periods ---- */

/* Whole periods have passed since it was looked at. What was saved up is at most the burst (groups R7); a debt stays (groups R9). */
static NOINLINE void limits_refill(struct limit *g, u64 now)
{
	u64 periods;
	s64 most = g->quota + g->burst;

	if ((s64)(now - g->ends) < 0)
		return;
	periods = (now - g->ends) / g->period + 1;
	g->ends += periods * g->period;
	if (periods > LIMIT_PERIODS)
		periods = LIMIT_PERIODS;
	g->left += periods * g->quota;
	if (g->left > most)
		g->left = most;
}

/* A limit is set, or with quota 0 lifted. Debt stays; a period begins. Times are below 2^40 ns; the period is not 0 then. */
static inline void limits_set(struct limits *l, u32 group, u64 quota, u64 period, u64 burst, u64 now)
{
	struct limit *g = &l->group[group & GROUP_MASK];

	if (g->quota)
		limits_refill(g, now);
	g->left = quota + (g->quota && g->left < 0 ? g->left : 0);
	g->quota = quota;
	g->period = period;
	g->burst = burst;
	g->ends = now + period;
	l->on |= quota > 0;
}

/* ---- who may run, and for how long ---- */

static NOINLINE void limits_look_at(struct limits *l, u64 now)
{
	struct limit *g = &l->group[l->at & GROUP_MASK];
	u64 until;

	if (!g->quota)
		return;
	limits_refill(g, now);
	if (g->left <= 0) {
		l->found = l->at;
		return;
	}
	/* No more than there will be a use for before the quota is full again. */
	until = g->ends - now;
	until = until < (u64)g->left ? until : (u64)g->left;
	l->room = l->room < until ? l->room : until;
}

/* Into found and room. The slice that the task has is not in there: give it back first. */
static NOINLINE void limits_look(struct limits *l, const struct machine *m, u32 id, u64 now)
{
	l->found = 0;
	l->room = SLICE_INF;
	l->at = m->groups.of[id & POOL_MASK];
	while (l->at != ROOT && can_loop) {
		limits_look_at(l, now);
		l->at = m->groups.group[l->at & GROUP_MASK].parent;
	}
}

/* `by` ns more for each group around the task */
static NOINLINE void limits_give(struct limits *l, const struct machine *m, u32 id)
{
	l->at = m->groups.of[id & POOL_MASK];
	while (l->at != ROOT && can_loop) {
		l->group[l->at & GROUP_MASK].left += l->by;
		l->at = m->groups.group[l->at & GROUP_MASK].parent;
	}
}

/* The slice of a task is over, or another begins: it has taken what it used until now, and no more. `ran` is that of the run in
 * progress. */
static inline void limits_settle(struct limits *l, const struct machine *m, u32 id, u64 ran)
{
	s64 used = l->used[id & POOL_MASK] + ran;

	l->by = l->taken[id & POOL_MASK] - used;
	l->taken[id & POOL_MASK] = used;
	if (l->by)
		limits_give(l, m, id);
}

/* A slice of this length begins: it is taken at once (groups R8). */
static inline void limits_take(struct limits *l, const struct machine *m, u32 id, u64 slice)
{
	l->taken[id & POOL_MASK] += slice;
	l->by = -(s64)slice;
	limits_give(l, m, id);
}

/* The task is off its CPU, and its slice is over. */
static inline void limits_end_slice(struct limits *l, const struct machine *m, u32 id)
{
	limits_settle(l, m, id, 0);
	l->taken[id & POOL_MASK] = l->used[id & POOL_MASK] = 0;
}

/* The task is off its CPU, where it ran for so long, and the machine knows. Its slice may go on. */
static inline void limits_off(struct limits *l, const struct machine *m, u32 id, u64 ran)
{
	l->used[id & POOL_MASK] += ran;
	if ((m->s.tasks.task[id & POOL_MASK].state & (PICKED | PARKED)) != PICKED)
		limits_end_slice(l, m, id);
}

/* ---- tasks that may not run ---- */

/* The machine does not have it any more (groups R10). */
static inline void limits_hold(struct limits *l, u32 id, u32 group, bool fresh, u64 now)
{
	struct limit *g = &l->group[group & GROUP_MASK];

	if (!g->first) {
		g->place = l->nqueue++;
		l->queue[g->place & GROUP_MASK] = group;
		g->since = now;
		g->throttles++;
	}
	ring_push_back(&l->links, &g->first, id);
	l->held[id & POOL_MASK] = group;
	l->fresh[id & POOL_MASK] = fresh;
	l->nheld++;
}

/* It may run again, or is gone. */
static inline void limits_free(struct limits *l, u32 id, u64 now)
{
	struct limit *g = &l->group[l->held[id & POOL_MASK] & GROUP_MASK];
	u32 last;

	ring_remove(&l->links, &g->first, id);
	l->held[id & POOL_MASK] = 0;
	l->nheld--;
	if (g->first)
		return;
	g->throttled += now - g->since;
	last = l->queue[--l->nqueue & GROUP_MASK];
	l->queue[g->place & GROUP_MASK] = last;
	l->group[last & GROUP_MASK].place = g->place;
}

/* Looks at the first task of a group in the queue, by its place. Returns it if it may run now, and is no longer held; 0 if the
 * group is still used up, or another around the task is, which then holds it: moved says so. */
static inline u32 limits_next(struct limits *l, const struct machine *m, u32 place, u64 now)
{
	u32 group = l->queue[place & GROUP_MASK], id = l->group[group & GROUP_MASK].first;
	bool fresh = l->fresh[id & POOL_MASK];

	l->moved = false;
	if (place >= l->nqueue)
		return 0;
	limits_look(l, m, id, now);
	if (l->found == group)
		return 0;
	limits_free(l, id, now);
	if (!l->found)
		return id;
	limits_hold(l, id, l->found, fresh, now);
	l->moved = true;
	return 0;
}

#endif
