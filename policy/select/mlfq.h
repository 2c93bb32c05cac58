/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mlfq: multi-level feedback queue. A job begins at the highest level, and sinks by one whenever it has used up its
 * allotment there. From time to time all jobs begin anew.
 *
 * Corbato, Merwin-Daggett, Daley: "An Experimental Time-Sharing System" (1962), by the rules of Arpaci-Dusseau,
 * Arpaci-Dusseau: "Operating Systems: Three Easy Pieces", chapter 8: papers/mlfq.md.
 */
#include "../policy.h"
#include "../lib/bits.h"
#include "../lib/ring.h"

#define POLICY_TITLE "multi-level feedback queue: who used much sinks; ignores weights"
#define POLICY_HAS CHARGE | SLICE | PREEMPTS

#define MLFQ_TIME_MAX (10000 * MS)
#define MLFQ_LEVELS 16u

#define POLICY_BASELINE

#define POLICY_PARAMS(P) \
	P(levels, INTEGER, "", 8, 1, 16, "how many there are") \
	P(allotment, TIME, "", 0, 0, MLFQ_TIME_MAX, \
	  "time at the highest level, twice as much at each next; 0: a quantum") \
	P(boost, TIME, "", 1000 * MS, 0, MLFQ_TIME_MAX, "S, how often all jobs go to the highest level; 0: never")

#define POLICY_SHOWS(V) V("level", "from 0, the highest", mlfq_shown_level(s, id))

struct mlfq_job {
	u32 level; /* 0 is the highest */
	u64 used;  /* of its allotment there, ns */
	u64 boost; /* the boost after which these held; after a later one it is at level 0 and has used nothing */
};

struct mlfq {
	POLICY_STATE;
	struct links waiting;
	u32 first[MLFQ_LEVELS]; /* of each level's line */
	u64 levels;             /* levels with a waiting job, a bit each */
	u64 boost;              /* boosts so far */
	u64 boosted;            /* when the last boost was due, ns */
	u32 at;                 /* scratch of mlfq_boost */
	struct mlfq_job job[POOL];
};

/* After a boost it is at the highest level with a new allotment (mlfq R5). */
static inline struct mlfq_job *mlfq_job(struct mlfq *s, u32 id)
{
	struct mlfq_job *j = &s->job[id & POOL_MASK];

	if (j->boost != s->boost)
		*j = (struct mlfq_job){ .boost = s->boost };
	return j;
}

/* It does not note a boost, because looking must change nothing. */
static inline u32 mlfq_shown_level(const struct mlfq *s, u32 id)
{
	const struct mlfq_job *j = &s->job[id & POOL_MASK];

	return j->boost == s->boost ? j->level : 0;
}

/* A level has twice the allotment of the level above. */
static inline u64 mlfq_allotment(const struct mlfq *s, u32 level)
{
	return (s->param.allotment ? s->param.allotment : s->tasks.quantum) << (level % MLFQ_LEVELS);
}

static inline u32 *mlfq_line(struct mlfq *s, u32 level)
{
	return &s->first[level % MLFQ_LEVELS];
}

static inline void mlfq_note(struct mlfq *s, u32 level)
{
	u64 bit = 1ull << (level % MLFQ_LEVELS);

	s->levels = *mlfq_line(s, level) ? s->levels | bit : s->levels & ~bit;
}

/* Appends each level's line to that of the highest, in order. */
static NOINLINE void mlfq_merge(struct mlfq *s)
{
	while (s->at < MLFQ_LEVELS && can_loop) {
		ring_append(&s->waiting, mlfq_line(s, 0), *mlfq_line(s, s->at));
		*mlfq_line(s, s->at) = 0;
		s->at++;
	}
}

/* Every S all jobs go to the highest level (mlfq R5). */
static inline void mlfq_boost(struct mlfq *s, u64 now)
{
	u64 S = s->param.boost;

	if (!S || now - s->boosted < S)
		return;
	s->boosted += (now - s->boosted) / S * S;
	s->boost++;
	s->at = 1 + s->tasks.zero;
	mlfq_merge(s);
	s->levels = *mlfq_line(s, 0) ? 1 : 0;
}

/* ---- the calls ---- */

/* A new job is at the highest level (mlfq R3). A job that was blocked is last at the level where it was (mlfq R4). */
static inline void mlfq_join(struct mlfq *s, u32 id, u64 now, enum why why)
{
	struct mlfq_job *j = mlfq_job(s, id);

	if (why == NEW)
		*j = (struct mlfq_job){ .boost = s->boost };
	ring_push_back(&s->waiting, mlfq_line(s, j->level), id);
	mlfq_note(s, j->level);
}

static inline void mlfq_leave(struct mlfq *s, u32 id, u64 now, enum why why)
{
	struct mlfq_job *j = mlfq_job(s, id);

	if (is_picked(&s->tasks, id))
		return;
	ring_remove(&s->waiting, mlfq_line(s, j->level), id);
	mlfq_note(s, j->level);
}

/* The first of the highest level where somebody waits (mlfq R1, R2) */
static inline u32 mlfq_pick(struct mlfq *s, u32 cpu, u64 now)
{
	u32 level, id;

	mlfq_boost(s, now);
	level = lowest_bit(s->levels);
	id = ring_pop_front(&s->waiting, mlfq_line(s, level));
	mlfq_note(s, level);
	return id;
}

static inline void mlfq_charge(struct mlfq *s, u32 id, u64 ran, u64 now)
{
	mlfq_job(s, id)->used += ran;
}

/* A job that has used its allotment, in however many slices, moves down by one level (mlfq R4). A job that was only
 * interrupted is first in its line. */
static inline void mlfq_stop(struct mlfq *s, u32 id, u64 now, enum why why)
{
	struct mlfq_job *j = mlfq_job(s, id);
	bool over = j->used >= mlfq_allotment(s, j->level);

	if (over) {
		j->used = 0;
		j->level += j->level + 1 < s->param.levels;
	}
	if (over || why == YIELDED)
		ring_push_back(&s->waiting, mlfq_line(s, j->level), id);
	else
		ring_push_front(&s->waiting, mlfq_line(s, j->level), id);
	mlfq_note(s, j->level);
}

/* A slice is the rest of the allotment. */
static inline u64 mlfq_slice(struct mlfq *s, u32 id)
{
	struct mlfq_job *j = mlfq_job(s, id);
	u64 allotment = mlfq_allotment(s, j->level);

	return j->used < allotment ? allotment - j->used : 1;
}

/* A job at a higher level takes the CPU (mlfq R1). */
static inline bool mlfq_preempts(struct mlfq *s, u32 woken, u32 running, u64 now)
{
	return mlfq_job(s, woken)->level < mlfq_job(s, running)->level;
}
