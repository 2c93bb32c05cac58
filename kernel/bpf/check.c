/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loads the programs of check.bpf.c for one policy into this kernel, and runs storms of events through them and
 * through the same machine built natively. Every answer must be the same, and at the end the state of every task.
 * Compiled once for each policy, with DIVVY_POLICY its name, POLICY_HEADER its header, and POOL as in BPF.
 *
 *   check OBJECT [SEEDS]
 *
 * Exit codes: 0 if all is the same, 1 if not, 77 if BPF cannot be used here.
 */
#define _GNU_SOURCE
#include POLICY_HEADER
#include "machine.h"
#include "fuzz_storm.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define NAME STRING(DIVVY_POLICY)

/* The verifier gives up at a million instructions; a program that needs more than this is too close to that. */
#define MAX_VERIFIED 500000u
#define STORM_BYTES 32768u
/* Between the ids of a storm, so that they reach the end of the pool */
#define STRIDE ((POOL - 1) / STORM_TASKS)
#define NOT_HERE 77

#define EVENT_NAME(name) #name,
static const char *const event_names[] = { EVENTS(EVENT_NAME) };

/* A loaded policy, and the native machine beside it */
struct loaded {
	struct bpf_object *object;
	int program[EVENT_KINDS];
	struct machine *kernel; /* the programs' machine, mapped */
	struct machine *native;
	u64 events;
};

struct cost {
	u32 verified; /* instructions of the program that took most */
	const char *program;
	double ms; /* the longest load */
};

/* The longest message of libbpf: the verifier's log */
static char *verifier_log;

static int keep_longest_message(enum libbpf_print_level level, const char *format, va_list args)
{
	char *line;

	if (level == LIBBPF_DEBUG || vasprintf(&line, format, args) < 0)
		return 0;
	if (strlen(line) > (verifier_log ? strlen(verifier_log) : 0)) {
		free(verifier_log);
		verifier_log = line;
	} else {
		free(line);
	}
	return 0;
}

/* Prints the beginning, which names the program, and the end: the log may have a million lines. */
static void print_verifier_log(void)
{
	const int first = 200, last = 6000;
	size_t n = verifier_log ? strlen(verifier_log) : 0;

	if (n <= (size_t)(first + last))
		fprintf(stderr, "%s\n", n ? verifier_log : "");
	else
		fprintf(stderr, "%.*s\n[..]\n%s\n", first, verifier_log, verifier_log + n - last);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static _Noreturn void fail(const char *what, const char *which)
{
	fprintf(stderr, "check: %s: %s: %s\n", NAME, which, what);
	exit(1);
}

/* ---- loading ---- */

static void set_config(struct bpf_object *object, const struct config *config)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.config");

	if (!map || bpf_map__set_initial_value(map, config, sizeof(*config)))
		fail("no such section of the expected size; rebuild the object", ".rodata.config");
	map = bpf_object__find_map_by_name(object, ".rodata.modifiers");
	if (!map || bpf_map__set_initial_value(map, &config->modifiers, sizeof(config->modifiers)))
		fail("no such section of the expected size; rebuild the object", ".rodata.modifiers");
}

static struct machine *map_machine(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".bss");
	void *p;

	if (!map || bpf_map__value_size(map) != sizeof(struct machine))
		fail("no machine of the expected size; rebuild the object", ".bss");
	p = mmap(NULL, sizeof(struct machine), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (p == MAP_FAILED)
		fail(strerror(errno), "mmap");
	return p;
}

static int program(struct bpf_object *object, const char *event, struct cost *cost)
{
	struct bpf_prog_info info = { 0 };
	u32 size = sizeof(info);
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "check_%s", event);
	fd = bpf_program__fd(bpf_object__find_program_by_name(object, name));
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		fail("no such program", name);
	if (info.verified_insns > cost->verified) {
		cost->verified = info.verified_insns;
		cost->program = event;
	}
	if (info.verified_insns > MAX_VERIFIED)
		fail("the verifier explores more than 500000 instructions", name);
	return fd;
}

static void run(int fd, struct event *e, const char *event)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = e, .ctx_size_in = e ? sizeof(*e) : 0);

	if (bpf_prog_test_run_opts(fd, &opts) || opts.retval)
		fail("the program does not run", event);
}

static void load(struct loaded *l, const char *path, const struct config *config, struct cost *cost)
{
	double start = now_ms();

	l->object = bpf_object__open(path);
	if (!l->object)
		fail(strerror(errno), path);
	set_config(l->object, config);
	if (bpf_object__load(l->object)) {
		print_verifier_log();
		fail("the verifier refuses this object", path);
	}
	if (now_ms() - start > cost->ms)
		cost->ms = now_ms() - start;
	for (u32 i = 0; i < EVENT_KINDS; i++)
		l->program[i] = program(l->object, event_names[i], cost);
	l->kernel = map_machine(l->object);
	run(program(l->object, "init", cost), NULL, "init");
}

static void unload(struct loaded *l)
{
	munmap(l->kernel, sizeof(struct machine));
	bpf_object__close(l->object);
}

/* ---- comparing ---- */

static void tell(void *host, enum event_kind kind, struct event *e)
{
	struct loaded *l = host;
	struct event k = *e;

	l->events++;
	event_tell(l->native, kind, e);
	run(l->program[kind], &k, event_names[kind]);
	if (e->id != k.id || e->cpu != k.cpu || e->slice != k.slice) {
		fprintf(stderr,
			"event %llu, %s: native says task %u, CPU %u, slice %llu; BPF says task %u, CPU %u, slice %llu\n",
			l->events, event_names[kind], e->id, e->cpu, e->slice, k.id, k.cpu, k.slice);
		fail("BPF and native decide differently", event_names[kind]);
	}
}

static u64 compare(const char *path, u32 modifiers, u64 seed, struct cost *cost)
{
	static struct machine native;
	static u8 bytes[STORM_BYTES];
	struct loaded l = { .native = &native };
	struct storm storm = { .bytes = { bytes, STORM_BYTES, 0 }, .tell = tell, .host = &l, .stride = STRIDE };
	struct config config = { .modifiers = modifiers };

	seed_bytes(bytes, STORM_BYTES, seed);
	storm_config(&storm, &config);
	memset(&native, 0, sizeof(native));
	config_init(&native, &config);
	load(&l, path, &config, cost);
	while (more_bytes(&storm.bytes))
		storm_step(&storm);
	storm_calm(&storm);
	storm_end(&storm);
	if (memcmp(&native.s.tasks, &l.kernel->s.tasks, sizeof(struct task_table)) ||
	    native.decisions != l.kernel->decisions)
		fail("BPF and native end with different task tables", path);
	if (memcmp(&native.flow, &l.kernel->flow, sizeof(struct flow)))
		fail("BPF and native end with different programs", path);
	unload(&l);
	return l.events;
}

int main(int argc, char **argv)
{
	u64 seeds = argc > 2 ? strtoull(argv[2], NULL, 0) : 3, events = 0;
	struct cost cost = { 0 };
	u32 all = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: check OBJECT [SEEDS]\n");
		return 2;
	}
	libbpf_set_print(keep_longest_message);
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) <= 0) {
		fprintf(stderr,
			"check: this kernel does not let us load BPF programs (root and Linux >= 5.14 needed)\n");
		return NOT_HERE;
	}
#define ADD_BIT(UPPER, lower) all |= UPPER;
	MODIFIERS(ADD_BIT)
	for (u32 modifiers = 0; modifiers <= all; modifiers++)
		for (u64 seed = 0; seed < seeds && storm_has_set(modifiers); seed++)
			events += compare(argv[1], modifiers, modifiers * 1000 + seed, &cost);
	printf("%-10s %7u instructions verified (%s), loads in %.0f ms, %llu events decided as natively\n", NAME,
	       cost.verified, cost.program, cost.ms, events);
	return 0;
}
