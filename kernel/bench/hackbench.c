/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Makes tasks that block and wake all the time, as hackbench does: in each group 20 threads send messages of 100 bytes to each of 20
 * others, through sockets. The paper's have random weights from 1 to 40; here each has the nice value whose weight is nearest.
 *
 *   hackbench GROUPS LOOPS    prints what the scheduler's BPF programs cost from the first message to the last
 *
 * A sender sends LOOPS messages to each of the 20 receivers of its group.
 */
#include "fail.h"
#include "programs.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define SENDERS 20
#define RECEIVERS 20
#define GROUP (SENDERS + RECEIVERS)
#define MAX_GROUPS 100
#define MESSAGE 100
#define HEAVIEST 40

static long ngroups, nloops;
static int ends[MAX_GROUPS][RECEIVERS][2];
static pid_t thread[MAX_GROUPS * GROUP];
static pthread_barrier_t all_exist, all_weigh;
static int receiving;

static void pass(int fd, int sends)
{
	char message[MESSAGE] = "";
	ssize_t done;

	for (size_t passed = 0; passed < MESSAGE; passed += done) {
		errno = 0; /* the end of a file sets none */
		done = sends ? write(fd, message, MESSAGE - passed) : read(fd, message, MESSAGE - passed);
		if (done <= 0)
			fail(sends ? "hackbench: cannot send" : "hackbench: cannot receive");
	}
}

static void *run(void *arg)
{
	long me = (pid_t *)arg - thread, place = me % GROUP;
	int(*group)[2] = ends[me / GROUP];

	thread[me] = syscall(SYS_gettid);
	pthread_barrier_wait(&all_exist);
	pthread_barrier_wait(&all_weigh);
	if (place < SENDERS) {
		for (long loop = 0; loop < nloops; loop++)
			for (int to = 0; to < RECEIVERS; to++)
				pass(group[to][0], 1);
	} else {
		for (long message = 0; message < nloops * SENDERS; message++)
			pass(group[place - SENDERS][1], 0);
		if (!__atomic_sub_fetch(&receiving, 1, __ATOMIC_SEQ_CST)) {
			programs_end();
			fflush(stdout);
			_exit(0);
		}
	}
	pause();
	return NULL;
}

/* The same in each run: the numbers of D. Lehmer's generator. */
static int random_weight(void)
{
	static unsigned long state = 1;

	state = state * 48271 % 2147483647;
	return 1 + state % HEAVIEST;
}

/* Nice 19 is weight 1, and a step is a factor of 1.25. */
static int nice_of(int weight)
{
	int nice = 19;

	for (double between = 1.118; between < weight; between *= 1.25)
		nice--;
	return nice;
}

int main(int argc, char **argv)
{
	struct rlimit files = { .rlim_cur = 8192, .rlim_max = 8192 };
	pthread_attr_t small;
	pthread_t t;
	long n;

	ngroups = argc > 2 ? atol(argv[1]) : 0;
	nloops = argc > 2 ? atol(argv[2]) : 0;
	if (ngroups < 1 || ngroups > MAX_GROUPS || nloops < 1) {
		fprintf(stderr, "usage: hackbench GROUPS(1..%d) LOOPS\n", MAX_GROUPS);
		return 2;
	}
	n = ngroups * GROUP;
	receiving = ngroups * RECEIVERS;
	if (setrlimit(RLIMIT_NOFILE, &files))
		fail("hackbench: cannot have so many sockets");
	for (long i = 0; i < ngroups * RECEIVERS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i / RECEIVERS][i % RECEIVERS]))
			fail("hackbench: cannot make sockets");
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&all_exist, NULL, n + 1);
	pthread_barrier_init(&all_weigh, NULL, n + 1);
	for (long i = 0; i < n; i++)
		if ((errno = pthread_create(&t, &small, run, &thread[i])))
			fail("hackbench: cannot create a thread");
	pthread_barrier_wait(&all_exist);
	for (long i = 0; i < n; i++)
		if (setpriority(PRIO_PROCESS, thread[i], nice_of(random_weight())))
			fail("hackbench: cannot set a nice value");
	if (!programs_begin())
		fail("hackbench: cannot enable the kernel's statistics of BPF programs");
	pthread_barrier_wait(&all_weigh);
	pause();
	return 1;
}
