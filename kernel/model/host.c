/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The host itself, unchanged, and what the model asks of it. */
#include "host.bpf.c"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_model.h"

#define ARRAY(map, n) { &map, n, sizeof(*map.value), false, NULL }
#define HASH(map, n) { &map, n, sizeof(*map.value), true, NULL }

struct map host_maps[] = {
	ARRAY(slots, POOL), ARRAY(timers, 1), ARRAY(exec_scratches, 1), HASH(groups, MAX_GROUPS), HASH(names, 64), {},
};

/* A loader writes this data before the program starts; here it is in pages that cannot be written. */
static void make_writable(const volatile void *data, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)data & ~(page - 1);

	mprotect((void *)from, (uintptr_t)data + bytes - from, PROT_READ | PROT_WRITE);
}

s32 load_host(const struct host_options *options)
{
	struct host_config *c = (struct host_config *)&config;

	make_writable(&config, sizeof(config));
	make_writable(&modifiers_loaded, sizeof(modifiers_loaded));
	c->pool = options->pool ? options->pool : POOL - 1;
	c->fail_every = options->fail_every;
	c->starvation_limit_ms = options->starvation_limit_ms;
	c->tick_ns = (u32)model.tick_ns;
	c->users = options->users;
	for (u32 i = 0; i < MAX_CPUS; i++) {
		c->cpu[i] = i < model.ncpus ? i : NO_CPU;
		c->kernel_cpu[i] = i < model.ncpus ? i : 0;
	}
	c->config.quantum = options->quantum_ns;
	c->config.ncpus = model.ncpus;
	c->config.modifiers = options->modifiers;
#define DEFAULT(name, kind, unit, value, min, max, help) c->config.policy.name = value;
	POLICY_PARAMS(DEFAULT)
#undef DEFAULT
#define DEFAULT(name, kind, unit, value, min, max, help) c->config.MODIFIER.name = value;
#define MODIFIER procfair
	PROCFAIR_PARAMS(DEFAULT)
#undef MODIFIER
#define MODIFIER tfps
	TFPS_PARAMS(DEFAULT)
#undef MODIFIER
#define MODIFIER groups
	GROUPS_PARAMS(DEFAULT)
#undef MODIFIER
#define MODIFIER feasible
	FEASIBLE_PARAMS(DEFAULT)
#undef MODIFIER
#define MODIFIER flow
	FLOW_PARAMS(DEFAULT)
#undef MODIFIER
	return host_init();
}

bool host_has_custody(const struct task_struct *p)
{
	return id_of(p) && machine_task(&machine, id_of(p))->state & CUSTODY;
}

u64 host_faults(void)
{
	return machine.faults;
}

u64 host_missing(void)
{
	return stats.missing;
}

u64 host_events(void)
{
	return stats.events;
}

u64 host_decisions(void)
{
	return machine.decisions;
}
