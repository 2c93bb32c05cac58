/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A decision for a CPU, in the native host. */
#ifndef DIVVY_TURN_H
#define DIVVY_TURN_H

#include "machine.h"

/* A decision, and the CPUs that are to dispatch because of it, or NO_CPU */
struct host_turn {
	u32 id;
	u16 kick; /* that of the dispatch */
	u16 left; /* that of the task which left the CPU */
	u64 slice;
};

/* No lock is held here: the CPU asks again at once. In line, so that registers are saved once less. */
static ALWAYS_INLINE struct order ask(struct machine *m, u32 cpu, u64 now)
{
	struct order order = machine_dispatch(m, cpu, now);

	while (!order.id && order.kick == cpu)
		order = machine_choose(m, cpu, now);
	return order;
}

/* All that a decision changes, where no group has a limit: so the task that leaves is on its CPU. Almost every call of a simulation is this
 * one, so registers are saved once for all that it calls. */
static __attribute__((flatten)) struct host_turn h_turn(struct machine *m, u32 cpu, u32 former, u64 ran, u64 now)
{
	struct order order = ask(m, cpu, now);
	struct host_turn turn = { .id = order.id, .kick = order.kick, .left = NO_CPU, .slice = order.slice };

	if (former && former != order.id) {
		machine_stopping(m, former, ran, now);
		turn.left = machine_enqueue(m, former, now);
	}
	if (order.id && order.id != former)
		machine_running(m, order.id, now);
	return turn;
}

#endif
