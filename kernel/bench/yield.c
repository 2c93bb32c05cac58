/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A scheduling decision, again and again: threads of all weights that are runnable all the time and yield, on one CPU.
 *
 *   yield THREADS DECISIONS             prints the time of DECISIONS yields, in ns
 *   yield THREADS DECISIONS programs    prints what the scheduler's BPF programs cost meanwhile
 *
 * The threads' nice values go through all 40, in an order of no pattern, which are the weights of the kernel's table,
 * from 15 to 88761. A yield ends a turn, so each policy chooses as it does when quanta expire.
 */
#include "programs.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#define MAX_THREADS 4096
#define WARM_UP 2000 /* decisions before it counts: every path was taken, every group has been current */

static long ndecisions;
static bool counts_programs;
static pthread_barrier_t all_run;
static pid_t thread[MAX_THREADS];

/* On one CPU, and a thread is not preempted for as long as these take, or loses a decision now and then. */
static volatile bool weighted;
static volatile long decided;
static long long began_ns;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void begin(void)
{
	if (counts_programs && !programs_begin())
		fail("yield: the kernel does not count");
	began_ns = now_ns();
}

static void end(void)
{
	long long ns = now_ns() - began_ns;

	if (counts_programs) {
		programs_end();
	} else {
		printf("%lld\n", ns);
	}
	fflush(stdout);
	_exit(0);
}

static void *run(void *arg)
{
	*(pid_t *)arg = syscall(SYS_gettid);
	pthread_barrier_wait(&all_run);
	while (!weighted)
		sched_yield();
	for (;;) {
		long n = decided++;

		if (n == WARM_UP)
			begin();
		else if (n == WARM_UP + ndecisions)
			end();
		sched_yield();
	}
	return NULL;
}

static int nice_of(int i)
{
	return i * 17 % 40 - 20;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0;
	pthread_attr_t small;
	pthread_t t;

	ndecisions = argc > 2 ? atol(argv[2]) : 0;
	counts_programs = argc > 3 && !strcmp(argv[3], "programs");
	if (n < 1 || n > MAX_THREADS || ndecisions < 1) {
		fprintf(stderr, "usage: yield THREADS(1..%d) DECISIONS [programs]\n", MAX_THREADS);
		return 2;
	}
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&all_run, NULL, n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t, &small, run, &thread[i]))
			fail("yield: a thread");
	/* All are runnable when this returns; then they get their weights, by one that they do not hold up. */
	pthread_barrier_wait(&all_run);
	setpriority(PRIO_PROCESS, 0, -20);
	for (int i = 0; i < n; i++)
		if (setpriority(PRIO_PROCESS, thread[i], nice_of(i)))
			fail("yield: a nice value");
	weighted = true;
	pause();
	return 1;
}
