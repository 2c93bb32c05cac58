/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * srr: smoothed round-robin. The weights are a matrix of bits. The policy reads a sequence of its columns again and
 * again, the most significant one every other time. Each flow with its bit set in the column has a quantum.
 *
 * Guo: "SRR: An O(1) Time Complexity Packet Scheduler for Flows in Multi-Service Packet Networks" (SIGCOMM 2001):
 * papers/srr.md.
 */
#include "../policy.h"
#include "../lib/bits.h"
#include "../lib/ring.h"
#include "../lib/share.h"

#define POLICY_TITLE "smoothed round-robin: the bits of the weights, spread out"
#define POLICY_BASELINE
#define POLICY_COUNTS_SLICES
#define POLICY_HAS REWEIGH
#define POLICY_SHARES 1

#define SRR_PASSED_MAX 1024u

struct srr {
	POLICY_STATE;
	struct links column[SHARE_BITS]; /* flows whose weight has that bit, in the order in which they came */
	u32 first[SHARE_BITS];
	u64 columns;          /* columns that are not empty, a bit each */
	u64 i;                /* term of the weight spread sequence, from 1 to 2^K - 1 */
	u32 next;             /* flow to be served next in the column, 0 after the last */
	struct links waiting; /* runnable and not picked */
	u32 longest;          /* the waiting flow that began to wait first */
	u64 bits;             /* scratch: columns that are still to be done */
	u32 passed;
	u32 found;
	TASKS({ u32 weight; }); /* the weight with which it is in the columns */
};

/* K, bits of the greatest weight */
static inline u32 srr_order(const struct srr *s)
{
	return 1 + floor_log2(s->columns);
}

/* Term i of the sequence S_K = S_{K-1} K S_{K-1} is v = 1 + trailing zeros of i, and v reads column K - v (srr R1). */
static inline u32 srr_column(const struct srr *s)
{
	return (srr_order(s) - 1 - lowest_bit(s->i)) % SHARE_BITS;
}

/* ---- flows come and go ---- */

/* When K becomes K', term i becomes i 2^(K'-K), rounded down: the same place and the same column (srr R2). */
static inline void srr_set_columns(struct srr *s, u64 columns)
{
	u32 K = srr_order(s), K2 = 1 + floor_log2(columns);

	s->i = K2 > K ? s->i << (K2 - K) : s->i >> (K - K2);
	s->columns = columns;
}

/* Puts the flow last into the column of each bit in s->bits. */
static NOINLINE void srr_link(struct srr *s, u32 id)
{
	while (s->bits && can_loop) {
		u32 b = lowest_bit(s->bits) % SHARE_BITS;

		ring_push_back(&s->column[b], &s->first[b], id);
		s->bits &= s->bits - 1;
	}
}

static NOINLINE void srr_unlink(struct srr *s, u32 id)
{
	while (s->bits && can_loop) {
		u32 b = lowest_bit(s->bits) % SHARE_BITS;

		ring_remove(&s->column[b], &s->first[b], id);
		if (!s->first[b])
			s->passed |= 1u << b;
		s->bits &= s->bits - 1;
	}
}

static inline void srr_insert(struct srr *s, u32 id, u64 w)
{
	u32 weight = share_of(w);

	task_of(s, id)->weight = weight;
	s->bits = weight;
	srr_link(s, id);
	srr_set_columns(s, s->columns | weight);
}

/* The flow after this one in the column that is read, 0 after the last */
static inline u32 srr_after(const struct srr *s, u32 id)
{
	u32 b = srr_column(s), next = ring_next(&s->column[b], id);

	return next == s->first[b] ? 0 : next;
}

static inline void srr_remove(struct srr *s, u32 id)
{
	if (s->next == id)
		s->next = srr_after(s, id);
	s->bits = task_of(s, id)->weight;
	s->passed = 0;
	srr_unlink(s, id);
	srr_set_columns(s, s->columns & ~(u64)s->passed);
}

static inline void srr_join(struct srr *s, u32 id, u64 now, enum why why)
{
	srr_insert(s, id, weight_of(&s->tasks, id));
	ring_push_back(&s->waiting, &s->longest, id);
}

static inline void srr_leave(struct srr *s, u32 id, u64 now, enum why why)
{
	srr_remove(s, id);
	if (!is_picked(&s->tasks, id))
		ring_remove(&s->waiting, &s->longest, id);
}

/* ---- selection ---- */

/* Goes to the next term. Every other term is the most significant column, which is not empty (srr R1). */
static inline void srr_next_term(struct srr *s)
{
	s->i++;
	if (s->i >> srr_order(s))
		s->i = 1;
	s->next = s->first[srr_column(s)];
}

/* Finds the next waiting flow. After many flows that do not wait it takes the one that waits longest (srr D3). */
static NOINLINE void srr_select(struct srr *s)
{
	s->passed = s->tasks.zero;
	while (s->passed < SRR_PASSED_MAX && can_loop) {
		if (!s->next) {
			srr_next_term(s);
			continue;
		}
		s->found = s->next;
		s->next = srr_after(s, s->found);
		if (!is_picked(&s->tasks, s->found))
			return;
		s->passed++;
	}
	s->found = s->longest;
}

static inline u32 srr_pick(struct srr *s, u32 cpu, u64 now)
{
	if (!s->longest)
		return 0;
	srr_select(s);
	ring_remove(&s->waiting, &s->longest, s->found);
	return s->found;
}

static inline void srr_stop(struct srr *s, u32 id, u64 now, enum why why)
{
	ring_push_back(&s->waiting, &s->longest, id);
}

/* A flow with a new weight is in other columns (srr R3). */
static inline void srr_reweigh(struct srr *s, u32 id, u64 w, u64 now)
{
	if (share_of(w) == task_of(s, id)->weight)
		return;
	srr_remove(s, id);
	srr_insert(s, id, w);
}
