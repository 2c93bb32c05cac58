/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The model as a program that a simulator talks to: session.h. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroups.h"
#include "class.h"
#include "cpu.h"
#include "events.h"
#include "host_model.h"
#include "task.h"

struct model model;

#define KERNELS_WATCHDOG_NS 30000000000ull
/* Each task is a user's of its own: users have quotas of ids, and a workload has no users. */
#define FIRST_UID 10000
/* The model's time is later by this than the simulator's: 0 has a meaning of its own here. So ticks come at multiples of the tick there. */
#define OFFSET_NS 1
/* Records are sent when there are so many bytes of them, although no CPU has another task. */
#define MANY_BYTES (1u << 20)

static u32 told[MAX_MODEL_CPUS]; /* the task of each CPU, as the simulator knows it */
static bool is_doomed[MAX_MODEL_TASKS];
static u32 leaving[MAX_MODEL_TASKS], nleaving;
static char *records;
static size_t record_bytes;

static void must_read(void *to, size_t bytes)
{
	if (fread(to, 1, bytes, stdin) != bytes)
		exit(0);
}

static void must_write(const void *from, size_t bytes)
{
	if (fwrite(from, 1, bytes, stdout) != bytes)
		exit(0);
}

/* ---- what tasks do ---- */

static void create(const struct command *c)
{
	struct birth b = {
		.does = { .burst_ns = ENDLESS },
		.leader = c->leader,
		.nice = c->nice,
		.uid = FIRST_UID + c->task,
		.mask = c->mask,
		.is_orphan = c->other == NO_TASK,
	};

	if (c->task >= model.ntasks)
		model.ntasks = c->task + 1;
	is_doomed[c->task] = false;
	create_task(c->task, &b);
	if (c->weight && !host_weigh(&tasks[c->task].t, c->weight))
		scx_error("task %u has no id, so its weight cannot be set", c->task);
	move_to_cgroup(&tasks[c->task], c->group);
}

static void leave(struct model_task *p, bool lingers)
{
	p->does.lingers = lingers;
	leaving[nleaving++] = p->index;
}

static void kill_task(struct model_task *p)
{
	is_doomed[p->index] = true;
	if (cpus[p->cpu].curr == p) {
		exit_task(p);
		return;
	}
	p->does.then = THEN_EXIT;
	p->left_ns = 1;
	wake_up(p);
}

/* The host knows it at once, as one that a loader finds when it begins. */
static void limit(const struct command *c)
{
	set_cgroup_limit(c->task, c->quota_ns, c->period_ns, c->burst_ns);
	host_follow_limits();
}

static void carry_out(struct cpu *cpu, void *argument)
{
	const struct command *c = argument;
	struct model_task *p = &tasks[c->task];

	switch (c->kind) {
	case COMMAND_GROUP: make_cgroup(c->task, c->other, (u32)c->weight); break;
	case COMMAND_CREATE: create(c); break;
	case COMMAND_WAKE: wake_up(p); break;
	case COMMAND_BLOCK: block_task(p); break;
	case COMMAND_EXIT:
		leave(p, c->other);
		exit_task(p);
		break;
	case COMMAND_YIELD: yield_task(p); break;
	case COMMAND_KILL:
		leave(p, c->other);
		kill_task(p);
		break;
	case COMMAND_REAP: reap_task(p); break;
	case COMMAND_LIMIT: limit(c); break;
	}
}

/* Where it happens: on the task's CPU, on that of the task that does it, or anywhere. */
static struct cpu *place_of(const struct command *c)
{
	switch (c->kind) {
	case COMMAND_GROUP:
	case COMMAND_LIMIT:
	case COMMAND_REAP: return &cpus[0];
	case COMMAND_CREATE: return &cpus[c->other == NO_TASK ? 0 : tasks[c->other].cpu];
	case COMMAND_WAKE: return &cpus[c->cpu >= 0 ? c->cpu : tasks[c->task].cpu];
	default: return &cpus[tasks[c->task].cpu];
	}
}

static bool is_valid(const struct command *c)
{
	bool is_cgroups = c->kind == COMMAND_GROUP || c->kind == COMMAND_LIMIT;
	u32 most = is_cgroups ? MAX_MODEL_CGROUPS : MAX_MODEL_TASKS;

	return c->task < most && c->kind <= COMMAND_LIMIT && c->cpu < (s32)model.ncpus &&
	       (c->kind != COMMAND_CREATE || ((c->other == NO_TASK || c->other < most) && c->leader < most));
}

static void leave_now(struct cpu *cpu, void *unused)
{
	leave_interrupt(cpu);
}

/* No CPU schedules before all that happens at one moment has happened, as with interrupts off: a task that wakes another one and then
 * sleeps is not preempted in between. */
static void obey(u32 ncommands)
{
	u64 touched = 0;

	for (u32 i = 0; i < ncommands; i++) {
		struct command c;
		struct cpu *cpu;

		must_read(&c, sizeof(c));
		if (!is_valid(&c)) {
			fprintf(stderr, "the model of Linux got a command that makes no sense\n");
			exit(1);
		}
		cpu = place_of(&c);
		touched |= 1ull << cpu->number;
		if (c.kind == COMMAND_BLOCK || c.kind == COMMAND_EXIT || c.kind == COMMAND_KILL)
			for (u32 n = 0; n < model.ncpus; n++)
				if (told[n] == c.task)
					told[n] = NO_TASK;
		run_on(cpu, carry_out, &c);
	}
	for (u32 i = 0; i < model.ncpus; i++)
		if (touched >> i & 1)
			run_on(&cpus[i], leave_now, NULL);
}

/* ---- what the simulator is told ---- */

static u32 task_on(u32 cpu)
{
	const struct model_task *curr = cpus[cpu].curr;

	return curr->class == CLASS_EXT && !is_doomed[curr->index] ? curr->index : NO_TASK;
}

static bool is_enough(void)
{
	for (u32 i = 0; i < model.ncpus; i++)
		if (task_on(i) != told[i])
			return true;
	return decision_log && ftello(decision_log) > MANY_BYTES;
}

static u32 changes(struct change *c)
{
	u32 n = 0;

	for (u32 i = 0; i < model.ncpus; i++)
		if (task_on(i) != told[i]) {
			told[i] = task_on(i);
			c[n++] = (struct change){ (s32)i, told[i] };
		}
	for (u32 i = 0; i < nleaving;)
		if (tasks[leaving[i]].exists) {
			i++;
		} else {
			c[n++] = (struct change){ -1, leaving[i] };
			leaving[i] = leaving[--nleaving];
		}
	return n;
}

static void reply(void)
{
	static struct change c[MAX_MODEL_CPUS + MAX_MODEL_TASKS];
	struct answer a = {
		.now_ns = model.now - OFFSET_NS,
		.decisions = host_decisions(),
		.faults = host_faults(),
		.calls = calls,
		.nchanges = changes(c),
		.error_bytes = (u32)strlen(model.error),
	};

	if (decision_log) {
		fflush(decision_log);
		a.record_bytes = (u32)record_bytes;
	}
	must_write(&a, sizeof(a));
	must_write(c, a.nchanges * sizeof(*c));
	must_write(records, a.record_bytes);
	must_write(model.error, a.error_bytes);
	if (fflush(stdout))
		exit(0);
	if (decision_log)
		rewind(decision_log);
}

/* ---- the session ---- */

static void *host_config;

static void load(struct cpu *cpu, void *argument)
{
	const struct opening *opening = argument;
	s32 error = load_host_as(host_config, opening->config_bytes);

	if (error)
		scx_error("init: %d", error);
	else
		enable_scheduler();
}

static void open_session(void)
{
	struct opening o;

	must_read(&o, sizeof(o));
	host_config = malloc(host_config_bytes());
	if (!host_config || o.config_bytes != host_config_bytes() || !o.ncpus || o.ncpus > MAX_MODEL_CPUS) {
		fprintf(stderr, "the model of Linux is of another build\n");
		exit(1);
	}
	must_read(host_config, o.config_bytes);
	if (o.log)
		decision_log = open_memstream(&records, &record_bytes);
	model.random = o.seed;
	model.watchdog_ns = model.kernel_watchdog_ns = KERNELS_WATCHDOG_NS;
	memset(told, 0xff, sizeof(told));
	start_cpus(o.ncpus, o.tick_ns, 0);
	run_on(&cpus[0], load, &o);
}

int main(void)
{
	struct request r;

	open_session();
	while (!model.error[0]) {
		must_read(&r, sizeof(r));
		model.now = r.now_ns + OFFSET_NS;
		obey(r.ncommands);
		if (r.until_ns != ~0ull)
			r.until_ns += OFFSET_NS;
		if (!run_before(r.until_ns, is_enough) && !model.error[0])
			model.now = r.until_ns;
		reply();
	}
	return 0;
}
