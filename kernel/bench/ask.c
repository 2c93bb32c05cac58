/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A person at an interactive shell, who thinks, has it compute something, waits for the answer, and thinks again.
 *
 *   ask THINK_MS WORK_MS ANSWERS PROCS
 *
 * Thinking and the shell's work take random times of these means, from an exponential distribution and always the same numbers. How much the shell has to do for a ms is
 * measured first. The shell goes to the cgroup of the file PROCS. To the file ANSWERS come, after each, the lines
 * `answers=N` and `took_ns=NS`, the times from questions to answers together. This process is real-time: it stands for a person, whom no policy schedules.
 */
#define _GNU_SOURCE /* SCHED_RESET_ON_FORK */
#include "clock.h"
#include "fail.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#define TRIALS 5
#define TRIED 2000 /* rounds of a trial */

static FILE *to_shell, *from_shell;

static void become_shell(int in, int out, const char *procs)
{
	FILE *cgroup = fopen(procs, "w");

	if (!cgroup || fprintf(cgroup, "%d\n", getpid()) < 0 || fclose(cgroup))
		fail(procs);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
		fail("ask: dup2");
	execlp("sh", "sh", NULL);
	fail("ask: sh");
}

static void start_shell(const char *procs)
{
	int questions[2], answers[2];
	pid_t shell;

	if (pipe(questions) || pipe(answers))
		fail("ask: pipe");
	shell = fork();
	if (shell < 0)
		fail("ask: fork");
	if (!shell)
		become_shell(questions[0], answers[1], procs);
	close(questions[0]);
	close(answers[1]);
	to_shell = fdopen(questions[1], "w");
	from_shell = fdopen(answers[0], "r");
	if (!to_shell || !from_shell)
		fail("ask: fdopen");
}

/* Returns how long the answer took, in ns. The process ends with the shell. */
static long long ask(long rounds)
{
	char answer[64];
	long long sent_ns = now_ns();

	fprintf(to_shell, "i=%ld; while [ $i -gt 0 ]; do i=$((i - 1)); done; echo $i\n", rounds);
	if (fflush(to_shell) || !fgets(answer, sizeof(answer), from_shell))
		exit(0);
	return now_ns() - sent_ns;
}

static double exponential(double mean)
{
	return -mean * log(1 - drand48());
}

static void think(double ms)
{
	long long ns = ms * 1e6;
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	struct sched_param priority = { .sched_priority = 50 };
	long long took_ns = 0, least_ns = 0;
	FILE *answers;

	if (argc != 5) {
		fprintf(stderr, "usage: ask THINK_MS WORK_MS ANSWERS PROCS\n");
		return 2;
	}
	/* The shell is not real-time. */
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority))
		fail("ask: cannot be real-time");
	answers = fopen(argv[3], "w");
	if (!answers)
		fail(argv[3]);
	start_shell(argv[4]);
	srand48(1);
	for (int i = 0; i < TRIALS; i++) {
		long long ns = ask(TRIED);

		if (!least_ns || ns < least_ns)
			least_ns = ns;
	}
	for (long n = 1;; n++) {
		think(exponential(atof(argv[1])));
		took_ns += ask(exponential(atof(argv[2])) * 1e6 * TRIED / least_ns);
		fprintf(answers, "answers=%ld\ntook_ns=%lld\n", n, took_ns);
		fflush(answers);
	}
}
