/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Executes a program, and says what that took.
 *
 *   timed LABEL COMMAND [ARGUMENT..]    prints `executed LABEL PROCESSING_NS CPU_NS SWITCHES`
 *
 * The program's output goes to the file `output`. The processing time is from when its process first has a CPU until it has ended, and SWITCHES says how often it lost its CPU
 * without blocking, to threads of the kernel as well. A program that takes MOST_S is ended. This process is real-time, so that it sees the end at once. The program is not.
 */
#define _GNU_SOURCE /* SCHED_RESET_ON_FORK */
#include "clock.h"
#include "fail.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_S 600

static long long of_timeval(struct timeval t)
{
	return t.tv_sec * 1000000000ll + t.tv_usec * 1000ll;
}

/* grep ends at the first match if its output is /dev/null. */
static void become(char **command, long long *began_ns)
{
	int in = open("/dev/null", O_RDONLY), out = open("output", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	alarm(MOST_S); /* it goes on after exec */
	*began_ns = now_ns();
	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0)
		fail("timed: its input and output");
	execv(command[0], command);
	fail(command[0]);
}

int main(int argc, char **argv)
{
	struct sched_param priority = { .sched_priority = 50 };
	long long *began_ns, ended_ns;
	struct rusage used;
	pid_t child;
	int status;

	if (argc < 3) {
		fprintf(stderr, "usage: timed LABEL COMMAND [ARGUMENT..]\n");
		return 2;
	}
	began_ns = mmap(NULL, sizeof(*began_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (began_ns == MAP_FAILED)
		fail("timed: mmap");
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority))
		fail("timed: cannot be real-time");
	child = fork();
	if (child < 0)
		fail("timed: fork");
	if (!child)
		become(argv + 2, began_ns);
	if (wait4(child, &status, 0, &used) != child)
		fail("timed: wait4");
	ended_ns = now_ns();
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "timed: %s failed, or took %d s\n", argv[2], MOST_S);
		return 1;
	}
	printf("executed %s %lld %lld %ld\n", argv[1], ended_ns - *began_ns,
	       of_timeval(used.ru_utime) + of_timeval(used.ru_stime), used.ru_nivcsw);
	return 0;
}
