/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * vtrr: virtual-time round-robin. Clients queue by share. Each quantum goes to the next client of the queue, or to the
 * head if the next client has had its part already.
 *
 * Nieh, Vaill, Zhong: "Virtual-Time Round-Robin: An O(1) Proportional Share Scheduler" (USENIX 2001): papers/vtrr.md.
 */
#include "../policy.h"
#include "../lib/ring.h"
#include "../lib/share.h"
#define TREE_BY_MINOR 0
#include "../lib/tree.h"
#include "../lib/wide.h"

#define POLICY_TITLE "virtual-time round-robin: down a queue of falling shares, and back"
#define POLICY_BASELINE
#define POLICY_COUNTS_SLICES
#define POLICY_LINEAR 4
#define POLICY_HAS REWEIGH | FORK
#define POLICY_SHARES 1

#define POLICY_PARAMS(P) \
	P(debit, SWITCH, "", 1, 0, 1, \
	  "a forked client has had what its parent had, and owes a quantum; off: as published, its part of the cycle")

struct vtrr_client {
	u64 S;     /* share */
	u64 k;     /* quanta of this cycle, S less the time counter; VFT = (k + 1)/S */
	u64 cycle; /* the cycle in which k was counted */
};

struct vtrr {
	POLICY_STATE;
	struct links queue; /* all runnable clients, by falling share */
	u32 head;
	struct tree
		by_share; /* the same clients, to find places in the queue; in it shares are complements, and equal ones in order */
	struct tree_node behind; /* scratch of that search: not on the stack, which is short in BPF */
	u64 turns;               /* that came into it so far */
	u32 c;                   /* the client that was chosen last; 0: begin with the head */
	u32 found;               /* scratch of the searches below */
	u32 waiting;             /* clients that are runnable and not picked */
	u64 Phi;                 /* total shares */
	u64 left;                /* quanta left of the cycle, the sum of all counters; QVT = (Phi - left)/Phi */
	u64 cycle;
	TASKS(vtrr_client);
};

/* Time counters begin each cycle at S (vtrr R3). */
static inline u64 vtrr_had(struct vtrr *s, u32 id)
{
	struct vtrr_client *n = task_of(s, id);

	return n->cycle == s->cycle ? n->k : 0;
}

static inline u64 vtrr_counter(struct vtrr *s, u32 id)
{
	return task_of(s, id)->S - vtrr_had(s, id);
}

static inline void vtrr_next_cycle(struct vtrr *s)
{
	s->cycle++;
	s->left = s->Phi;
	s->c = 0;
}

/* ---- clients come and go ---- */

/* The first client of a lesser share than S, 0 if there is none */
static inline u32 vtrr_place(struct vtrr *s, u64 S)
{
	s->behind.major = ~S;
	s->behind.turn = ~0ull;
	return tree_after(&s->by_share, &s->behind);
}

static ALWAYS_INLINE void vtrr_link(struct vtrr *s, u32 id)
{
	u64 S = task_of(s, id)->S;
	u32 next = vtrr_place(s, S);

	if (!next)
		ring_push_back(&s->queue, &s->head, id);
	else if (next == s->head)
		ring_push_front(&s->queue, &s->head, id);
	else
		ring_link(&s->queue, next, id);
	tree_insert(&s->by_share, id, ~S, 0, ++s->turns);
}

/* Inserts a client with share S that had k quanta in this cycle. Inlined, as frames are few (policy.h). */
static ALWAYS_INLINE void vtrr_insert(struct vtrr *s, u32 id, u64 S, u64 k)
{
	struct vtrr_client *n = task_of(s, id);

	n->S = S;
	n->k = k < S ? k : S;
	n->cycle = s->cycle;
	s->Phi += S;
	s->left += S - n->k;
	vtrr_link(s, id);
}

/* k = floor(S QVT), so VFT is QVT + 1/S or less: its counter is its part of what is left of the cycle (vtrr R4). Rounded up for a
 * child: else it has the rest of a quantum that its parent's earlier child had used (vtrr R6). */
static inline u64 vtrr_part(struct vtrr *s, u64 S, bool up)
{
	struct wide rest = { .lo = up ? s->Phi - 1 : 0 };

	return s->Phi ? wide_div(&s->division, wide_add(wide_mul(S, s->Phi - s->left), rest), s->Phi) : 0;
}

/* If the client was chosen last, the choice goes on after the client before it. */
static ALWAYS_INLINE void vtrr_remove(struct vtrr *s, u32 id)
{
	if (s->c == id)
		s->c = id == s->head ? 0 : ring_last(&s->queue, id);
	s->Phi -= task_of(s, id)->S;
	s->left -= vtrr_counter(s, id);
	ring_remove(&s->queue, &s->head, id);
	tree_remove(&s->by_share, id);
}

/* A child has had as much of this cycle as its parent when that one's slice began (vtrr R6). */
static inline void vtrr_fork(struct vtrr *s, u32 id, u32 parent, u64 now)
{
	u64 had = parent && s->param.debit ? vtrr_had(s, parent) : 0;

	task_of(s, id)->k = had ? had - 1 : 0;
	task_of(s, id)->cycle = s->cycle;
}

/* A client that was here in this cycle already, and had more than its part, keeps its number of quanta (vtrr R4). A child
 * owes one, if it owes most of one (vtrr R6). */
static inline void vtrr_join(struct vtrr *s, u32 id, u64 now, enum why why)
{
	u64 S = share_of(weight_of(&s->tasks, id));
	u64 debit = why == NEW && s->param.debit ? debit_of(&s->tasks, id) : 0;
	bool most = debit > s->tasks.quantum / 2;
	u64 part = vtrr_part(s, S, debit && !most), had = vtrr_had(s, id);

	if (had < part)
		had = part;
	had += most;
	s->waiting++;
	vtrr_insert(s, id, S, had);
}

static inline void vtrr_leave(struct vtrr *s, u32 id, u64 now, enum why why)
{
	if (!is_picked(&s->tasks, id))
		s->waiting--;
	vtrr_remove(s, id);
}

/* ---- selection ---- */

/*
 * After client c its successor n runs if n has more left to run (vtrr R2), or if VFT_n - QVT < 1/S_n with QVT as after
 * that quantum: (k_n + 1)/S_n - (t + 1)/Phi < 1/S_n, so k_n Phi < (t + 1) S_n. Else the head runs (vtrr R1).
 */
static inline u32 vtrr_next(struct vtrr *s)
{
	u32 n = s->c ? ring_next(&s->queue, s->c) : s->head;

	if (n == s->head || vtrr_counter(s, n) > vtrr_counter(s, s->c))
		return n;
	if (wide_greater(s->Phi - s->left + 1, task_of(s, n)->S, vtrr_had(s, n), s->Phi))
		return n;
	return s->head;
}

/* Sets found to the first client from found on that waits and has quanta left; 0 if there is none (vtrr D3). */
static NOINLINE void vtrr_find_client(struct vtrr *s)
{
	u32 from = s->found;

	while (can_loop) {
		if (!is_picked(&s->tasks, s->found) && vtrr_counter(s, s->found))
			return;
		s->found = ring_next(&s->queue, s->found);
		if (s->found == from)
			break;
	}
	s->found = 0;
}

static inline u32 vtrr_pick(struct vtrr *s, u32 cpu, u64 now)
{
	struct vtrr_client *n;

	if (!s->waiting)
		return 0;
	if (!s->left)
		vtrr_next_cycle(s);
	s->found = vtrr_next(s);
	vtrr_find_client(s);
	if (!s->found) {
		vtrr_next_cycle(s);
		s->found = s->head;
		vtrr_find_client(s);
	}
	s->waiting--;
	s->left--;
	s->c = s->found;
	n = task_of(s, s->c);
	n->k = vtrr_had(s, s->c) + 1;
	n->cycle = s->cycle;
	return s->c;
}

static inline void vtrr_stop(struct vtrr *s, u32 id, u64 now, enum why why)
{
	s->waiting++;
}

/* A client with a new share moves to a new place, and its quanta of this cycle are scaled with the share (vtrr R5). */
static inline void vtrr_reweigh(struct vtrr *s, u32 id, u64 w, u64 now)
{
	u64 had = vtrr_had(s, id), S = task_of(s, id)->S, S2 = share_of(w);

	if (S == S2)
		return;
	vtrr_remove(s, id);
	vtrr_insert(s, id, S2, wide_mul_div(&s->division, had, S2, S));
}
