/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The tasks that wait in a shard, in the order in which they began to: all of them; those that may run on every CPU of the same shards; and those that may
 * run on a part of a shard's CPUs. So an idle CPU of another shard finds a task, however many come before it that may not run there; one of the
 * last kind by a search.
 *
 * The holder of a shard's lock changes what belongs to it.
 */
#ifndef DIVVY_HOST_REACHABLE_H
#define DIVVY_HOST_REACHABLE_H

#include "host/reach_sets.h"
#include "host/survey.h"

#ifdef DIVVY_SHARDS

#include "lib/ring.h"

#define REACH_WORDS (REACHES / 64)

struct reachable {
	u64 has[REACH_WORDS]; /* which sets have a task */
	u32 first[REACHES];   /* of the tasks with each set */
	u32 partly;           /* the first of those that may run on a part of a shard's CPUs */
	u32 line;             /* the first of all that wait */
};

static struct reachable reachable[MOST_SHARDS];
static struct links reach_links, partly_links, line_links;
/* The set under which a task waits here, by its number, or 0 */
static u8 waits_under[POOL];
/* Whether it is in the line of those that may run on a part of a shard's CPUs */
static bool waits_partly[POOL];
/* Whether it is in the line of all that wait */
static bool waits_in_line[POOL];

/* The set of shards where it may run on every CPU, by its number */
static __always_inline u32 reach_of(u32 id)
{
	const struct host_move *move = &host_task(id)->move;

	return move->is_bound ? move->reach : EVERYWHERE;
}

static __always_inline bool reaches_a_part(u32 id)
{
	const struct host_move *move = &host_task(id)->move;

	return move->is_bound && move->reaches_a_part;
}

static __always_inline void list(struct links *links, u32 *first, bool *is_listed, u32 id, bool waits)
{
	if (*is_listed == waits)
		return;
	if (waits)
		ring_push_back(links, first, id);
	else
		ring_remove(links, first, id);
	*is_listed = waits;
}

/* Not inlined: each change of the machine comes here. */
static NOINLINE void move_to_reach(u32 shard, u32 id, u32 to, bool partly, bool waits)
{
	struct reachable *r = &reachable[shard & SHARD_MASK];
	u32 from = waits_under[id & POOL_MASK];

	if (from) {
		ring_remove(&reach_links, &r->first[from % REACHES], id);
		if (!r->first[from % REACHES])
			r->has[from / 64 % REACH_WORDS] &= ~(1ull << from % 64);
	}
	if (to) {
		ring_push_back(&reach_links, &r->first[to % REACHES], id);
		r->has[to / 64 % REACH_WORDS] |= 1ull << to % 64;
	}
	waits_under[id & POOL_MASK] = to;
	list(&partly_links, &r->partly, &waits_partly[id & POOL_MASK], id, partly);
	list(&line_links, &r->line, &waits_in_line[id & POOL_MASK], id, waits);
}

/* Under the shard's lock: the machine was told something that may begin or end its custody of the task. */
static __always_inline void note_reach(u32 shard, u32 id)
{
	bool waits = machine_task(machine_at(shard), id)->state & CUSTODY, partly = waits && reaches_a_part(id);
	u32 to = waits ? reach_of(id) : 0;

	if (id && (waits_under[id & POOL_MASK] != to || waits_partly[id & POOL_MASK] != partly ||
		   waits_in_line[id & POOL_MASK] != waits))
		move_to_reach(shard, id, to, partly, waits);
}

/* A hint without the lock: whether a task waits in the shard that may run in the other one */
static __always_inline bool has_waiting(u32 shard, u32 to)
{
	const struct reachable *r = &reachable[shard & SHARD_MASK];
	u64 sets = 0;

#pragma unroll
	for (u32 word = 0; word < REACH_WORDS; word++)
		sets |= r->has[word] & sets_with[to & SHARD_MASK][word];
	return sets || r->partly;
}

static __always_inline u32 reachable_in(const struct reachable *r, u32 to, u32 word)
{
	u64 sets = r->has[word] & sets_with[to & SHARD_MASK][word];

	return sets ? r->first[(word * 64 + lowest_bit(sets)) % REACHES] : 0;
}

/* A task that waits in the shard and may run on all CPUs of the other one, or 0: the first with one of these sets */
static NOINLINE u32 find_reachable(u32 shard, u32 to)
{
	const struct reachable *r = &reachable[shard & SHARD_MASK];
	u32 id = 0;

#pragma unroll
	for (u32 word = 0; word < REACH_WORDS; word++)
		id = id ?: reachable_in(r, to, word);
	return id;
}

/* It waits nowhere, and never will. */
static __always_inline void forget_reach(u32 id)
{
	struct host_move *move = &host_task(id)->move;

	move->left_reach = move->reach;
	leave_reach_set(id);
	move->reach = NOWHERE;
}

#else
static __always_inline void note_reach(u32 shard, u32 id)
{
}

static __always_inline void forget_reach(u32 id)
{
}
#endif

#endif
