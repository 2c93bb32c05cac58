/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Makes scheduling decisions: threads of all weights that are always runnable yield.
 *
 *   yield THREADS DECISIONS [equal]             prints the time of DECISIONS yields, in ns
 *   yield THREADS DECISIONS [equal] programs    prints what the scheduler's BPF programs cost during them
 *
 * If they are not to be equal, the threads have all 40 nice values in an order without a pattern, so their weights are those of the kernel's table,
 * from 15 to 88761. A yield ends a slice, so each policy chooses as it does when quanta expire.
 */
#include "clock.h"
#include "fail.h"
#include "programs.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define MAX_THREADS 4096
#define WARM_UP 2000 /* decisions before counting begins: by then every path was taken, and every group was current */

static long ndecisions;
static bool counts_programs;
static pthread_barrier_t all_run;
static pid_t thread[MAX_THREADS];

static volatile bool weighted;
static long
	decided; /* atomic: CPUs that take turns may do so in the middle of an update, and the other one makes thousands meanwhile */
static long long began_ns;

static void begin(void)
{
	if (counts_programs && !programs_begin())
		fail("yield: cannot enable the kernel's statistics of BPF programs");
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
		long n = __atomic_fetch_add(&decided, 1, __ATOMIC_RELAXED);

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
	bool equal = argc > 3 && !strcmp(argv[3], "equal");
	pthread_attr_t small;
	pthread_t t;

	ndecisions = argc > 2 ? atol(argv[2]) : 0;
	counts_programs = argc > 3 && !strcmp(argv[argc - 1], "programs");
	if (n < 1 || n > MAX_THREADS || ndecisions < 1) {
		fprintf(stderr, "usage: yield THREADS(1..%d) DECISIONS [equal] [programs]\n", MAX_THREADS);
		return 2;
	}
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&all_run, NULL, n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t, &small, run, &thread[i]))
			fail("yield: cannot create a thread");
	/* All threads are runnable when this returns. This thread then gives them their weights, at nice -20, so that they do
	 * not delay it. */
	pthread_barrier_wait(&all_run);
	if (setpriority(PRIO_PROCESS, 0, -20))
		fail("yield: cannot have nice -20");
	for (int i = 0; i < n; i++)
		if (setpriority(PRIO_PROCESS, thread[i], equal ? 0 : nice_of(i)))
			fail("yield: cannot set a nice value");
	weighted = true;
	pause();
	return 1;
}
