/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "cgroups.h"
#include "cpu.h"
#include "events.h"
#include "script.h"

static const char *const kind_names[ACTION_KINDS] = { "create", "wake",    "nice",  "mask",   "exit",  "reap", "move",
						      "rt",     "stopper", "mkdir", "weight", "rmdir", "limit" };

#define U(x) (unsigned long long)(x)

void write_script(const struct script *s, FILE *file)
{
	const struct host_options *h = &s->host;

	fprintf(file, "machine cpus=%u tick=%llu race=%u seed=%llu\n", s->ncpus, U(s->tick_ns), s->race_in, U(s->seed));
	fprintf(file,
		"host quantum=%llu modifiers=%u starvation=%u pool=%u fail=%u users=%u cgroups=%u shards=%u uneven=%u\n",
		U(h->quantum_ns), h->modifiers, h->starvation_limit_ms, h->pool, h->fail_every, h->users, h->cgroups,
		h->shards, h->uneven);
	if (s->still_in)
		fprintf(file, "still %u %llu\n", s->still_in, U(s->longest_still_ns));
	for (u32 i = 0; i < s->ncpus; i++)
		if (s->clock_ahead_ns[i])
			fprintf(file, "clock %u %llu\n", i, U(s->clock_ahead_ns[i]));
	for (u32 i = 0; i < h->nsubordinates; i++)
		fprintf(file, "subordinate %u %u %u\n", h->subordinates[i].first, h->subordinates[i].last,
			h->subordinates[i].owner);
	if (s->offline)
		fprintf(file, "offline %llu\n", U(s->offline));
	if (s->load_ns)
		fprintf(file, "load %llu\n", U(s->load_ns));
	if (s->hotplug_ns)
		fprintf(file, "hotplug %llu\n", U(s->hotplug_ns));
	fprintf(file, "end %llu\n", U(s->end_ns));
	if (s->watchdog_ns)
		fprintf(file, "watchdog %llu kernel=%llu\n", U(s->watchdog_ns), U(s->kernel_watchdog_ns));
	for (u32 i = 0; i < s->nexpected; i++)
		fprintf(file, "expect service %u..%u least=%llu most=%llu\n", s->expected[i].first, s->expected[i].last,
			U(s->expected[i].least_ns), U(s->expected[i].most_ns));
	for (u32 i = 0; i < s->nactions; i++) {
		const struct action *a = &s->actions[i];
		const struct birth *b = &a->birth;

		fprintf(file, "at %llu %s %u", U(a->at_ns), kind_names[a->kind], a->target);
		if (a->kind == CREATE)
			fprintf(file,
				" burst=%llu sleep=%llu varies=%u then=%u leader=%u nice=%d uid=%u mask=%llu kernel=%u stays=%u lingers=%u\n",
				U(b->does.burst_ns), U(b->does.sleep_ns), b->does.varies, b->does.then, b->leader,
				b->nice, b->uid, U(b->mask), b->is_kernel_thread, b->does.stays, b->does.lingers);
		else if (a->kind == MKDIR)
			fprintf(file, " %lld in=%u\n", (long long)a->value, a->parent);
		else if (a->kind == LIMIT)
			fprintf(file, " %lld period=%llu burst=%llu\n", (long long)a->value, U(a->period_ns),
				U(a->burst_ns));
		else
			fprintf(file, " %lld\n", (long long)a->value);
	}
}

static bool read_action(struct action *a, const char *kind, const char *rest)
{
	unsigned long long burst, sleep, mask;
	unsigned varies, then, kernel, stays = 0, lingers = 0;
	struct birth *b = &a->birth;
	char leader[16], uid[16], parent[16];
	long long value;
	int nice;

	for (a->kind = 0; a->kind < ACTION_KINDS && strcmp(kind, kind_names[a->kind]) != 0;)
		a->kind++;
	if (a->kind == ACTION_KINDS)
		return false;
	if (a->kind == MKDIR) {
		if (sscanf(rest, " %lld in=%15s", &value, parent) != 2)
			return false;
		a->value = value;
		a->parent = strcmp(parent, "last") ? (u32)strtoul(parent, NULL, 10) : a->target - 1;
		return a->parent < MAX_MODEL_CGROUPS;
	}
	if (a->kind == LIMIT) {
		if (sscanf(rest, " %lld period=%llu burst=%llu", &value, &burst, &sleep) != 3 || value < 0 || !burst)
			return false;
		a->value = value;
		a->period_ns = burst;
		a->burst_ns = sleep;
		return true;
	}
	if (a->kind != CREATE) {
		if (sscanf(rest, " %lld", &value) != 1)
			return false;
		a->value = value;
		return true;
	}
	if (sscanf(rest,
		   " burst=%llu sleep=%llu varies=%u then=%u leader=%15s nice=%d uid=%15s mask=%llu kernel=%u stays=%u "
		   "lingers=%u",
		   &burst, &sleep, &varies, &then, leader, &nice, uid, &mask, &kernel, &stays, &lingers) < 9)
		return false;
	b->leader = strcmp(leader, "self") ? (u32)strtoul(leader, NULL, 10) : a->target;
	b->does = (struct behaviour){ burst, sleep, varies, then, stays, lingers };
	b->nice = nice;
	b->uid = strcmp(uid, "own") ? (u32)strtoul(uid, NULL, 10) : FIRST_OWN_UID + a->target;
	b->mask = mask;
	b->is_kernel_thread = kernel;
	return b->leader < MAX_MODEL_TASKS;
}

/* The actions of a line: one for each target, as often as is said. */
static bool read_actions(struct script *s, const char *line)
{
	unsigned long long at_ns, step = 0;
	unsigned times = 1, first, last;
	int used = 0, more = 0;
	char kind[16];

	if (sscanf(line, "repeat %u %llu %n", &times, &step, &used) == 2)
		line += used;
	if (sscanf(line, "at %llu %15s %u%n", &at_ns, kind, &first, &used) != 3)
		return false;
	line += used;
	if (sscanf(line, "..%u%n", &last, &more) != 1)
		last = first;
	if (last >= (strstr(kind, "dir") || !strcmp(kind, "weight") || !strcmp(kind, "limit") ? MAX_MODEL_CGROUPS
											      : MAX_MODEL_TASKS))
		return false;
	for (u32 i = 0; i < times; i++) {
		for (u32 target = first; target <= last; target++) {
			struct action *a = &s->actions[s->nactions];

			if (s->nactions == MAX_ACTIONS)
				return false;
			a->at_ns = at_ns + i * step;
			a->target = target;
			if (!read_action(a, kind, line + more))
				return false;
			s->nactions++;
		}
	}
	return true;
}

static bool read_subordinate(struct host_options *h, const char *line)
{
	struct subordinate_users *r = &h->subordinates[h->nsubordinates];

	if (h->nsubordinates == MAX_RANGES || sscanf(line, "subordinate %u %u %u", &r->first, &r->last, &r->owner) != 3)
		return false;
	h->nsubordinates++;
	return true;
}

static bool read_expected(struct script *s, const char *line)
{
	struct expected *e = &s->expected[s->nexpected];
	unsigned long long least, most;

	if (s->nexpected == MAX_EXPECTED ||
	    sscanf(line, "expect service %u..%u least=%llu most=%llu", &e->first, &e->last, &least, &most) != 4)
		return false;
	e->least_ns = least;
	e->most_ns = most;
	s->nexpected++;
	return e->first <= e->last && e->last < MAX_MODEL_TASKS;
}

u32 read_script(struct script *s, FILE *file)
{
	unsigned long long tick, seed, quantum, end, decisions;
	unsigned users, cgroups = 0, uneven = 0;
	char line[512];
	u32 number = 0;
	int found;

	memset(s, 0, sizeof(*s));
	while (fgets(line, sizeof(line), file)) {
		number++;
		if (sscanf(line, "machine cpus=%u tick=%llu race=%u seed=%llu", &s->ncpus, &tick, &s->race_in, &seed) ==
		    4) {
			s->tick_ns = tick;
			s->seed = seed;
		} else if (
			sscanf(line,
			       "host quantum=%llu modifiers=%u starvation=%u pool=%u fail=%u users=%u cgroups=%u shards=%u uneven=%u",
			       &quantum, &s->host.modifiers, &s->host.starvation_limit_ms, &s->host.pool,
			       &s->host.fail_every, &users, &cgroups, &s->host.shards, &uneven) >= 6) {
			s->host.uneven = uneven;
			s->host.cgroups = cgroups;
			s->host.quantum_ns = quantum;
			s->host.users = users;
		} else if (sscanf(line, "expect decisions=%llu most=%llu", &decisions, &end) >= 1) {
			s->least_decisions = decisions;
			s->most_decisions = strstr(line, "most=") ? end : 0;
		} else if (sscanf(line, "still %u %llu", &s->still_in, &end) == 2 && end) {
			s->longest_still_ns = end;
		} else if (sscanf(line, "clock %u %llu", &users, &end) == 2 && users < MAX_MODEL_CPUS) {
			s->clock_ahead_ns[users] = end;
		} else if (sscanf(line, "offline %llu", &end) == 1) {
			s->offline = end;
		} else if (sscanf(line, "load %llu", &end) == 1) {
			s->load_ns = end;
		} else if (sscanf(line, "hotplug %llu", &end) == 1) {
			s->hotplug_ns = end;
		} else if (sscanf(line, "end %llu", &end) == 1) {
			s->end_ns = end;
		} else if ((found = sscanf(line, "watchdog %llu kernel=%llu", &end, &tick)) >= 1) {
			s->watchdog_ns = s->kernel_watchdog_ns = end;
			if (found == 2)
				s->kernel_watchdog_ns = tick;
		} else if (line[0] != '#' && line[0] != '\n' && !read_expected(s, line) &&
			   !read_subordinate(&s->host, line) && !read_actions(s, line)) {
			return number;
		}
	}
	return s->ncpus && s->ncpus <= MAX_MODEL_CPUS && s->tick_ns && s->host.quantum_ns ? 0 : number ?: 1;
}

/* ---- running ---- */

static void rt_ends(struct cpu *cpu, void *unused)
{
	cpu->rt_waiting--;
	cpu->need_resched = true;
}

static void stopper_ends(struct cpu *cpu, void *unused)
{
	cpu->stoppers--;
	rt_ends(cpu, unused);
}

/* It has the CPU for so long. */
static void interrupt(struct cpu *cpu, u64 ns, void (*ends)(struct cpu *, void *))
{
	cpu->rt_waiting++;
	cpu->need_resched = true;
	at(model.now + ns, cpu->number, ends, NULL, 0);
}

static void act(struct cpu *cpu, void *argument)
{
	const struct action *a = argument;
	struct model_task *p = &tasks[a->target % MAX_MODEL_TASKS];

	switch (a->kind) {
	case CREATE:
		create_task(a->target, &a->birth);
		wake_up(p);
		break;
	case WAKE: wake_up(p); break;
	case NICE: set_nice(p, (s32)a->value); break;
	case MASK: set_mask(p, (u64)a->value); break;
	case EXIT:
		if (p->exists)
			end_task(p);
		break;
	case REAP: reap_task(p); break;
	case MOVE: move_to_cgroup(p, (u32)a->value); break;
	case MKDIR: make_cgroup(a->target, a->parent, (u32)a->value); break;
	case WEIGHT: set_cgroup_weight(a->target, (u32)a->value); break;
	case RMDIR: remove_cgroup(a->target); break;
	case LIMIT: set_cgroup_limit(a->target, (u64)a->value, a->period_ns, a->burst_ns); break;
	case RT: interrupt(cpu, (u64)a->value, rt_ends); break;
	case STOPPER:
		cpu->stoppers++;
		interrupt(cpu, (u64)a->value, stopper_ends);
		break;
	case ACTION_KINDS: break;
	}
}

static void load(struct cpu *cpu, void *argument)
{
	const struct host_options *options = argument;
	s32 error = load_host(options);

	model.loaded_ns = model.now;
	model.rescues = options->starvation_limit_ms && options->starvation_limit_ms < LONGEST_SCRIPT_MS;
	if (error)
		scx_error("init: %d", error);
	enable_scheduler();
}

#define SOON_NS 1000

/* Nobody has an id, once the tasks that were ending have ended. */
static void check_unloaded(struct cpu *cpu, void *unused)
{
	const char *wrong;

	if (model.ends) {
		at(model.now + SOON_NS, cpu->number, check_unloaded, NULL, 0);
		return;
	}
	wrong = host_check_ids();
	if (wrong)
		scx_error("after unloading: %s", wrong);
	else if (host_ids())
		scx_error("after unloading %u ids are held", host_ids());
}

/* The kernel ends the scheduler when a CPU comes or goes, because the host has no op for that. No task forks meanwhile: scx_fork_rwsem. */
static void hotplug(struct cpu *cpu, void *unused)
{
	if (!model.is_loaded)
		return;
	if (model.forks) {
		at(model.now + SOON_NS, cpu->number, hotplug, NULL, 0);
		return;
	}
	disable_scheduler();
	check_unloaded(cpu, NULL);
}

static void check_service(const struct expected *e)
{
	u64 service = 0;

	for (u32 i = e->first; i <= e->last; i++)
		service += tasks[i].service_ns;
	if (service < e->least_ns || service > e->most_ns)
		scx_error("tasks %u..%u got %llu ns, not %llu to %llu", e->first, e->last, U(service), U(e->least_ns),
			  U(e->most_ns));
}

const char *run_script(const struct script *s)
{
	model.random = s->seed;
	model.race_in = s->race_in;
	model.still_in = s->still_in;
	model.longest_still_ns = s->longest_still_ns;
	model.watchdog_ns = s->watchdog_ns ?: KERNELS_WATCHDOG_NS;
	model.kernel_watchdog_ns = s->kernel_watchdog_ns ?: KERNELS_WATCHDOG_NS;
	start_cpus(s->ncpus, s->tick_ns, s->offline);
	for (u32 i = 0; i < s->ncpus; i++)
		cpus[i].clock_ahead_ns = s->clock_ahead_ns[i];
	at(s->load_ns, __builtin_ctzll(model.online), load, (void *)&s->host, 0);
	if (s->hotplug_ns > s->load_ns)
		at(s->hotplug_ns, __builtin_ctzll(model.online), hotplug, NULL, 0);
	for (u32 i = 0; i < s->nactions; i++) {
		const struct action *a = &s->actions[i];
		s32 cpu = is_on_cpu(a->kind) ? (s32)(a->target % s->ncpus) : -1;

		if (cpu >= 0 && !cpus[cpu].is_online)
			continue;
		if (a->kind == CREATE && a->target >= model.ntasks)
			model.ntasks = a->target + 1;
		at(a->at_ns + 1, cpu, act, (void *)a, 0);
	}
	run_until(s->end_ns);
	if (s->most_decisions && host_decisions() > s->most_decisions)
		scx_error("%llu decisions are too many", U(host_decisions()));
	if (host_decisions() < s->least_decisions)
		scx_error("%llu decisions are too few", U(host_decisions()));
	for (u32 i = 0; i < s->nexpected; i++)
		check_service(&s->expected[i]);
	return model.error[0] ? model.error : NULL;
}
