/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fuzzes the machine with one policy, FUZZ_POLICY of POLICY_HEADER; build it with a small POOL.
 *
 *   fuzz [-m MODIFIERS] [-s SEED] [-n CASES] [-t SECONDS] [FILE..]
 *
 * A case is a storm of events that bytes choose: those of a FILE, or of a generator whose seed is SEED for the
 * first case and counts up. What must not be is printed with where and when, and aborts; FUZZ_TRACE=1 prints
 * every event. With -DFUZZ_LIBFUZZER there is no main, and each case's first byte says which modifiers.
 */
#include "fuzz_spy.h"
#include "fuzz_storm.h"
#include "fuzz_check.h"
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define CASE_BYTES 4096u

static struct machine machine;
static bool trace;
static u64 total_events;

#define EVENT_NAME(name) #name,
static const char *const event_names[] = { EVENTS(EVENT_NAME) };

static void tell(void *host, enum event_kind kind, struct event *e)
{
	u32 cpu = e->cpu;

	if (trace)
		fprintf(stderr, "%6llu %12llu %-11s task %u cpu %u amount %llu why %u", model.events + 1, e->now,
			event_names[kind], e->id, e->cpu, e->amount, e->why);
	model_before(kind, e);
	event_tell(&machine, kind, e);
	if (trace)
		fprintf(stderr, " -> task %u cpu %u\n", e->id, e->cpu);
	model_after(kind, cpu, e);
	model_check(&machine.s.facts, machine.faults);
}

static void run_case(const u8 *bytes, u64 n, u32 modifiers)
{
	struct storm storm = { .bytes = bytes, .nbytes = n, .tell = tell, .stride = 1 };
	struct config config = { .modifiers = modifiers };
	u32 lost;

	memset(&machine, 0, sizeof(machine));
	memset(&model, 0, sizeof(model));
	storm_config(&storm, &config);
	model.ncpus = config.ncpus;
	for (u32 cpu = 0; cpu < model.ncpus; cpu++)
		model.idle[cpu] = true;
	model.modifiers = modifiers;
	model.count_all = config.procfair.all;
	config_init(&machine, &config);
	while (storm.at < storm.nbytes)
		storm_step(&storm);
	lost = storm_calm(&storm);
	MUST(!lost, "lost: runnable, and it never runs", lost);
	storm_end(&storm);
	total_events += model.events;
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t n)
{
	if (n)
		run_case(bytes + 1, n - 1, bytes[0] % 4);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
static const char *current; /* the case that runs, for the report of an abort */

static void run_seed(u64 seed, u32 modifiers)
{
	static u8 bytes[CASE_BYTES];
	static char name[64];
	u32 n = 64 + (u32)(seed * 7919 % (CASE_BYTES - 64));

	snprintf(name, sizeof(name), "-m %u -s %llu -n 1", modifiers, seed);
	current = name;
	storm_bytes(bytes, n, seed);
	run_case(bytes, n, modifiers);
}

static int run_file(const char *path)
{
	static u8 bytes[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f) {
		perror(path);
		return 1;
	}
	current = path;
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	return LLVMFuzzerTestOneInput(bytes, n);
}

/* Sanitizers abort, too, so that the case that failed is always named. */
const char *__asan_default_options(void)
{
	return "abort_on_error=1";
}

const char *__ubsan_default_options(void)
{
	return "abort_on_error=1:print_stacktrace=1";
}

static void on_abort(int signal)
{
	static const char says[] = "fuzz: to see it again: FUZZ_TRACE=1 fuzz ";

	(void)signal;
	if (write(2, says, sizeof(says) - 1) < 0 || write(2, current, strlen(current)) < 0 || write(2, "\n", 1) < 0)
		_exit(2);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	u64 seed = 1, cases = ~0ull, done = 0;
	double limit = 1e9, start = seconds();
	u32 modifiers = 0;

	for (int c; (c = getopt(argc, argv, "m:s:n:t:")) != -1;) {
		switch (c) {
		case 'm': modifiers = (u32)strtoul(optarg, NULL, 0); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'n': cases = strtoull(optarg, NULL, 0); break;
		case 't': limit = strtod(optarg, NULL); break;
		default: return 2;
		}
	}
	trace = getenv("FUZZ_TRACE");
	signal(SIGABRT, on_abort);
	for (int i = optind; i < argc; i++)
		if (run_file(argv[i]))
			return 1;
	if (optind < argc)
		return 0;
	while (done < cases && seconds() - start < limit)
		run_seed(seed + done++, modifiers);
	printf("%llu cases, %llu events\n", done, total_events);
	return 0;
}
#endif
