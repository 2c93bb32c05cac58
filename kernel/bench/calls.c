/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Measures system calls as lmbench does, and prints a number of them and their time in ns. They are made in parts, and the one that took least
 * counts: now and then something else runs.
 *
 *   calls syscall N    one that does next to nothing: getppid
 *   calls fork N       a process that ends at once, and is waited for
 *   calls exec N       the same of one that first executes a program that does nothing: this one
 */
#include "clock.h"
#include "fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PARTS 4
#define WARM_UP 10

static char myself[4096];

static void call(void)
{
	syscall(SYS_getppid);
}

static void await(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child || status)
		fail("calls: a process did not end well");
}

static void make_process(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	await(child);
}

static void make_program(void)
{
	pid_t child = fork();

	if (!child) {
		execl(myself, myself, "nothing", (char *)NULL);
		_exit(1);
	}
	await(child);
}

static long long time_of(void (*of)(void), long n)
{
	long long began_ns = now_ns();

	for (long i = 0; i < n; i++)
		of();
	return now_ns() - began_ns;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;
	void (*of)(void) = !strcmp(what, "syscall") ? call
			   : !strcmp(what, "fork")  ? make_process
			   : !strcmp(what, "exec")  ? make_program
						    : NULL;
	long long least_ns = 0;

	if (!strcmp(what, "nothing"))
		return 0;
	if (!of || n < 1) {
		fprintf(stderr, "usage: calls syscall|fork|exec N\n");
		return 2;
	}
	if (readlink("/proc/self/exe", myself, sizeof(myself) - 1) < 0)
		fail("calls: cannot find its own program");
	for (int i = 0; i < WARM_UP; i++)
		of();
	n = (n + PARTS - 1) / PARTS;
	for (int part = 0; part < PARTS; part++) {
		long long ns = time_of(of, n);

		if (!part || ns < least_ns)
			least_ns = ns;
	}
	printf("%ld %lld\n", n, least_ns);
	return 0;
}
