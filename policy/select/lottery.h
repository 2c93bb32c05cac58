/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lottery: a ticket is drawn for each quantum, and whoever holds it runs. Shares are right on average.
 *
 * Waldspurger, Weihl: "Lottery Scheduling: Flexible Proportional-Share Resource Management" (OSDI 1994):
 * papers/lottery.md.
 * Not taken: ticket transfers, inflation and currencies (lottery D2).
 */
#include "../policy.h"
#include "../lib/partial_sums.h"
#include "../lib/random.h"

#define POLICY_TITLE "lottery scheduling: a random ticket for each quantum"
#define POLICY_BASELINE
#define POLICY_HAS INIT | CHARGE | REWEIGH
#define POLICY_SHARES 1

#define POLICY_PARAMS(P) \
	P(seed, INTEGER, "", 0, 0, 1ll << 53, \
	  "of the random numbers: the same one draws the same tickets; 0: each run, repetition and loading has its own")

#define LOTTERY_TICKETS_MAX (8 * WEIGHT_MAX) /* so that those of a whole pool add up */

struct lottery_client {
	u64 used;    /* ns, of its last quantum */
	u64 quantum; /* ns, that this was; 0 if there was none */
};

struct lottery {
	POLICY_STATE;
	struct partial_sums tickets; /* of those that wait, by id; 1024 for a weight of 1 */
	struct random random;
	TASKS(lottery_client);
};

static inline void lottery_init(struct lottery *s)
{
	s->random.state = s->param.seed ? s->param.seed : 1;
}

/* A client that used a fraction f of its quantum has 1/f times as many tickets until it runs again, rounded down (lottery R2). */
static inline u64 lottery_tickets(struct lottery *s, u32 id, u64 w)
{
	struct lottery_client *c = task_of(s, id);
	u64 used = c->used ? c->used : 1, tickets = w;

	if (used < c->quantum)
		tickets = wide_mul_div(&s->division, w, c->quantum, used);
	return tickets < LOTTERY_TICKETS_MAX ? tickets : LOTTERY_TICKETS_MAX;
}

static inline void lottery_hold(struct lottery *s, u32 id, u64 w)
{
	partial_sums_set(&s->tickets, id, lottery_tickets(s, id, w));
}

static inline void lottery_join(struct lottery *s, u32 id, u64 now, enum why why)
{
	if (why == NEW)
		*task_of(s, id) = (struct lottery_client){ 0 };
	lottery_hold(s, id, weight_of(&s->tasks, id));
}

static inline void lottery_leave(struct lottery *s, u32 id, u64 now, enum why why)
{
	partial_sums_set(&s->tickets, id, 0);
}

/* Each ticket wins with the same probability (lottery R1). */
static inline u32 lottery_pick(struct lottery *s, u32 cpu, u64 now)
{
	u32 id;

	if (!s->tickets.total)
		return 0;
	id = partial_sums_find(&s->tickets, random_below(&s->random, s->tickets.total));
	partial_sums_set(&s->tickets, id, 0);
	*task_of(s, id) = (struct lottery_client){ .quantum = s->tasks.quantum };
	return id;
}

static inline void lottery_charge(struct lottery *s, u32 id, u64 ran, u64 now)
{
	task_of(s, id)->used += ran;
}

static inline void lottery_stop(struct lottery *s, u32 id, u64 now, enum why why)
{
	lottery_hold(s, id, weight_of(&s->tasks, id));
}

static inline void lottery_reweigh(struct lottery *s, u32 id, u64 w, u64 now)
{
	if (!is_picked(&s->tasks, id))
		lottery_hold(s, id, w);
}
