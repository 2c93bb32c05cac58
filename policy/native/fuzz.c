/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fuzzes the machine with one policy, FUZZ_POLICY of POLICY_HEADER; build it with a small POOL. A case is a
 * storm of events. FUZZ_TRACE=1 prints every event; fuzz_main.h has the arguments.
 */
#define MACHINE_ENTITLED
#define CLASSES 8u /* few, so that there are more sets of CPUs */
#include "fuzz_spy.h"
#include "fuzz_storm.h"
#include "fuzz_check.h"
#include "fuzz_main.h"

static struct machine machine;

#define EVENT_NAME(name) #name,
static const char *const event_names[] = { EVENTS(EVENT_NAME) };

/* As a host that shows what tasks are entitled to: when they stop, and when they no longer are. */
static void check_entitled(enum event_kind kind, const struct event *e)
{
	if (kind != EVENT_stopping && kind != EVENT_quiescent)
		return;
	if (kind == EVENT_stopping)
		entitled_touch(&machine.entitled, &machine.s.tasks, e->id, e->now);
	model_check_entitled(model_task(e->id), machine_task(&machine, e->id)->entitled.service, e->id);
}

/* With few steps an event looks at some of the weights that it changed. Those that are due follow, now and then, as if nothing else
 * happened; and when nothing is due, all are as if all had been looked at. */
#define SETTLE_EVERY 64u
#define FEW_STEPS (GROUP_STEPS < POOL || THREAD_STEPS < POOL)

static void settle(u64 now)
{
	for (u32 n = 0; FEW_STEPS && machine_has_due(&machine); n++) {
		MUST(n < 2 * POOL * POOL, "weights do not come to an end", n);
		machine_readjust(&machine, now);
	}
}

static void tell(void *host, enum event_kind kind, struct event *e)
{
	u32 cpu = e->cpu;

	if (fuzz_trace)
		fprintf(stderr, "%6llu %12llu %-11s task %u cpu %u amount %llu why %u", model.events + 1, e->now,
			event_names[kind], e->id, e->cpu, e->amount, e->why);
	model_before(kind, e);
	event_tell(&machine, kind, e);
	if (fuzz_trace)
		fprintf(stderr, " -> task %u cpu %u\n", e->id, e->cpu);
	check_entitled(kind, e);
	model_after(kind, cpu, e);
	model_check(&machine.s.tasks, machine.faults);
	if (model.events % SETTLE_EVERY == 0)
		settle(e->now);
	if (!FEW_STEPS || !machine_has_due(&machine))
		model_check_weights(&machine.s.tasks);
	model_check_programs(&machine.flow);
}

static bool fuzz_has_set(u32 modifiers)
{
	return storm_has_set(modifiers);
}

static void fuzz_case(const u8 *bytes, u64 n, u32 modifiers)
{
	struct storm storm = { .bytes = { bytes, n, 0 }, .tell = tell, .stride = 1 };
	struct config config = { .modifiers = modifiers };
	u32 lost;

	memset(&machine, 0, sizeof(machine));
	memset(&model, 0, sizeof(model));
	storm_config(&storm, &config);
	model.ncpus = config.ncpus;
	model.quantum = config.quantum;
	for (u32 cpu = 0; cpu < model.ncpus; cpu++)
		model.idle[cpu] = true;
	model.modifiers = modifiers_of(modifiers);
	model.by_group = modifiers & TFPS ? config.tfps.group : config.procfair.group;
	model.count_all = modifiers & TFPS ? config.tfps.all : config.procfair.all;
	model.keeps_apart = POLICY_SHARES;
	model.as_asked = config.feasible.asked;
	model.tm = config.flow.Tm / config.flow.slot * config.flow.slot;
	config_init(&machine, &config);
	storm_make_groups(&storm);
	while (more_bytes(&storm.bytes))
		storm_step(&storm);
	lost = storm_calm(&storm);
	MUST(!lost, "lost: runnable, and it never runs", lost);
	storm_end(&storm);
	fuzz_events += model.events;
}
