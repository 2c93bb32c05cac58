/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The entry points of a fuzzer that defines fuzz_case, and which sets of modifiers it is to be called with.
 *
 *   fuzz -l    lists these
 *   fuzz [-m MODIFIERS] [-s SEED] [-n CASES] [-t SECONDS] [FILE..]
 *
 * A case is bytes: those of a FILE, or of a generator whose seed is SEED for the first case and counts up. A
 * fault is printed with its place and time, and aborts. With -DFUZZ_LIBFUZZER it has no main. The first
 * byte of a case selects the modifiers, as in a FILE.
 */
#ifndef DIVVY_FUZZ_MAIN_H
#define DIVVY_FUZZ_MAIN_H

#include "fuzz_bytes.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CASE_BYTES 4096u

static bool fuzz_trace;
static u64 fuzz_events;

#define MODIFIER_SETS 32u

static bool fuzz_has_set(u32 modifiers);
static void fuzz_case(const u8 *bytes, u64 n, u32 modifiers);

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t n)
{
	if (n)
		fuzz_case(bytes + 1, n - 1, bytes[0] % MODIFIER_SETS);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
static const char *current; /* the case that runs, for the report of an abort */

static void run_seed(u64 seed, u32 modifiers)
{
	static u8 bytes[CASE_BYTES];
	static char name[64];
	u32 n = 64 + (u32)(seed * 7919 % (CASE_BYTES - 64)); /* of many lengths */

	snprintf(name, sizeof(name), "-m %u -s %llu -n 1", modifiers, seed);
	current = name;
	seed_bytes(bytes, n, seed);
	fuzz_case(bytes, n, modifiers);
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

static int list_sets(void)
{
	for (u32 modifiers = 0; modifiers < MODIFIER_SETS; modifiers++)
		if (fuzz_has_set(modifiers))
			printf("%u\n", modifiers);
	return 0;
}

int main(int argc, char **argv)
{
	u64 seed = 1, cases = ~0ull, done = 0;
	double limit = 1e9, start = seconds();
	u32 modifiers = 0;

	for (int c; (c = getopt(argc, argv, "lm:s:n:t:")) != -1;) {
		switch (c) {
		case 'l': return list_sets();
		case 'm': modifiers = (u32)strtoul(optarg, NULL, 0); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'n': cases = strtoull(optarg, NULL, 0); break;
		case 't': limit = strtod(optarg, NULL); break;
		default: return 2;
		}
	}
	fuzz_trace = getenv("FUZZ_TRACE");
	signal(SIGABRT, on_abort);
	for (int i = optind; i < argc; i++)
		if (run_file(argv[i]))
			return 1;
	if (optind < argc)
		return 0;
	while (done < cases && seconds() - start < limit)
		run_seed(seed + done++, modifiers);
	printf("%llu cases, %llu events\n", done, fuzz_events);
	return 0;
}
#endif

#endif
