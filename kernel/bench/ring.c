/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Measures context switches as lmbench's lat_ctx does: processes in a ring pass a token through pipes, and each adds up an array of
 * its own when it has the token.
 *
 *   ring PROCESSES KB PASSES          prints a number of passes, in whole rounds, and their time in ns
 *   ring PROCESSES KB PASSES alone    the same of one process that has the pipes to itself: nothing is switched
 *
 * A pass is a read, an array of KB kB, and a write. The difference of the two times is what the switches take. All PASSES are made in parts. The one
 * that took least counts, as lmbench has it: now and then something else runs.
 */
#include "clock.h"
#include "fail.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 64
#define MAX_KB 1024
#define PARTS 4
#define WARM_UP 10 /* rounds before the time is taken: by then every process has run, and its array is its own */

static int nprocesses;
static int ends[MAX_PROCESSES][2];
static pid_t others[MAX_PROCESSES];
static int *array;
static size_t nints;
static volatile int sum;

static void give(int to)
{
	int token = 1;

	if (write(ends[to][1], &token, sizeof(token)) != sizeof(token))
		fail("ring: cannot write a token");
}

static void take(int from)
{
	int token;

	if (read(ends[from][0], &token, sizeof(token)) != sizeof(token))
		fail("ring: cannot read a token");
}

static void use_array(void)
{
	int total = 0;

	for (size_t i = 0; i < nints; i++)
		total += array[i];
	sum = total;
}

/* A round of the token from the first process back to it: a pass for each process. */
static void round_of_all(void)
{
	give(1 % nprocesses);
	take(0);
	use_array();
}

static void round_alone(void)
{
	for (int i = 0; i < nprocesses; i++) {
		give(i);
		take(i);
		use_array();
	}
}

static void run_other(int me)
{
	/* A page that nobody has written to is the same for all. */
	memset(array, 0, nints * sizeof(*array));
	for (;;) {
		take(me);
		use_array();
		give((me + 1) % nprocesses);
	}
}

static long long time_of(void (*round)(void), long nrounds)
{
	long long began_ns = now_ns();

	for (long i = 0; i < nrounds; i++)
		round();
	return now_ns() - began_ns;
}

static void begin_others(void)
{
	for (int i = 1; i < nprocesses; i++) {
		others[i] = fork();
		if (others[i] < 0)
			fail("ring: cannot make a process");
		if (!others[i])
			run_other(i);
	}
}

static void end_others(void)
{
	for (int i = 1; i < nprocesses; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
}

int main(int argc, char **argv)
{
	int alone = argc > 4 && !strcmp(argv[4], "alone");
	void (*round)(void) = alone ? round_alone : round_of_all;
	int kb = argc > 3 ? atoi(argv[2]) : -1;
	long npasses = argc > 3 ? atol(argv[3]) : 0, nrounds;
	long long least_ns = 0;

	nprocesses = argc > 3 ? atoi(argv[1]) : 0;
	if (nprocesses < 2 || nprocesses > MAX_PROCESSES || kb < 0 || kb > MAX_KB || npasses < 1) {
		fprintf(stderr, "usage: ring PROCESSES(2..%d) KB(0..%d) PASSES [alone]\n", MAX_PROCESSES, MAX_KB);
		return 2;
	}
	nints = (size_t)kb * 1024 / sizeof(*array);
	nrounds = (npasses + nprocesses * PARTS - 1) / (nprocesses * PARTS);
	array = calloc(nints + 1, sizeof(*array));
	if (!array)
		fail("ring: cannot have an array");
	memset(array, 0, nints * sizeof(*array));
	for (int i = 0; i < nprocesses; i++)
		if (pipe(ends[i]))
			fail("ring: cannot make pipes");
	if (!alone)
		begin_others();
	for (int i = 0; i < WARM_UP; i++)
		round();
	for (int part = 0; part < PARTS; part++) {
		long long ns = time_of(round, nrounds);

		if (!part || ns < least_ns)
			least_ns = ns;
	}
	printf("%ld %lld\n", nrounds * nprocesses, least_ns);
	if (!alone)
		end_others();
	return 0;
}
