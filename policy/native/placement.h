/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One of several machines: tasks go from one to another, and they share what is known of programs (papers/placement.md). */
#ifndef DIVVY_PLACEMENT_H
#define DIVVY_PLACEMENT_H

#include "machine.h"

/* A task that is on no CPU goes to another machine, and its program goes on. */
static void h_depart(struct machine *m, u32 id, u64 now)
{
	u32 modifiers = m->modifiers;

	m->modifiers &= ~FLOW;
	machine_quiescent(m, id, now, BLOCKED);
	machine_exit(m, id, true, now);
	m->modifiers = modifiers;
}

/* ns that a task owes when it becomes runnable for the first time (machine/family.h) */
static u64 h_debit(const struct machine *m, u32 id)
{
	return debit_of(&m->s.tasks, id);
}

/* All machines that are given the same flow know the same programs. */
static struct flow *h_flow(struct machine *m)
{
	return &m->flow;
}

static void h_share_flow(struct machine *m, struct flow *flow)
{
	m->shared_flow = flow;
}

/* The next task whose weight is another one since it was answered here, until all are; then 0. Nothing is due any more. */
static u32 h_changed(struct machine *m, u64 now)
{
#ifdef POLICY_ACCOUNT
	while (machine_has_due(m))
		machine_readjust(m, now);
	return account_next(&m->s);
#else
	return 0;
#endif
}

#endif
