/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reads the CPU time of programs that run, each with all of its processes in a cgroup of its own.
 *
 *   watch WARM_UP_MS DURATION_MS WINDOWS CGROUP|KEY=FILE..
 *
 * A FILE has lines KEY=N, of which the last one counts: a program writes there what it has done. After WARM_UP_MS there are WINDOWS of DURATION_MS, one after the
 * other. Prints for each: `window NS`, how long it was, `cpu NAME NS` for each cgroup, and `KEY N` for each file, by how much N grew. This process is
 * real-time: it is not among those that the policy schedules.
 */
#include "clock.h"
#include "fail.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WATCHED 16

struct reading {
	long long at_ns, count[MAX_WATCHED]; /* of a cgroup: ns */
};

static char **watched;
static int nwatched;

/* The end of a file, as a string. */
static void read_end(const char *path, char *text, size_t size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat is;
	ssize_t n;

	if (file < 0 || fstat(file, &is))
		fail(path);
	n = pread(file, text, size - 1, is.st_size > (off_t)size ? is.st_size - (off_t)size + 1 : 0);
	if (n < 0)
		fail(path);
	text[n] = '\0';
	close(file);
}

/* The number behind the last such key. */
static long long last_number(const char *path, const char *key)
{
	char text[4096];
	const char *at = NULL;

	read_end(path, text, sizeof(text));
	for (const char *next = text; (next = strstr(next, key)); next++)
		at = next + strlen(key);
	if (!at) {
		fprintf(stderr, "watch: %s has no line %s\n", path, key);
		exit(1);
	}
	return atoll(at);
}

static long long count_of(const char *what)
{
	const char *equals = strchr(what, '=');
	char path[300], key[32];

	if (equals) {
		snprintf(key, sizeof(key), "%.*s", (int)(equals + 1 - what), what);
		return last_number(equals + 1, key);
	}
	snprintf(path, sizeof(path), "%s/cpu.stat", what);
	return 1000 * last_number(path, "usage_usec ");
}

static void read_all(struct reading *now)
{
	for (int i = 0; i < nwatched; i++)
		now->count[i] = count_of(watched[i]);
	now->at_ns = now_ns();
}

static void print(const char *what, long long count)
{
	const char *equals = strchr(what, '='), *slash = strrchr(what, '/');

	if (equals)
		printf("%.*s %lld\n", (int)(equals - what), what, count);
	else
		printf("cpu %s %lld\n", slash ? slash + 1 : what, count);
}

static void sleep_until(long long ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

int main(int argc, char **argv)
{
	struct sched_param priority = { .sched_priority = 50 };
	struct reading begin, end;
	long long duration_ns;

	nwatched = argc - 4;
	if (nwatched < 1 || nwatched > MAX_WATCHED) {
		fprintf(stderr, "usage: watch WARM_UP_MS DURATION_MS WINDOWS CGROUP|KEY=FILE.. (1 to %d)\n",
			MAX_WATCHED);
		return 2;
	}
	watched = argv + 4;
	duration_ns = 1000000 * atoll(argv[2]);
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		fail("watch: cannot be real-time");
	sleep_until(now_ns() + 1000000 * atoll(argv[1]));
	read_all(&begin);
	for (int windows = atoi(argv[3]); windows > 0; windows--) {
		sleep_until(begin.at_ns + duration_ns);
		read_all(&end);
		printf("window %lld\n", end.at_ns - begin.at_ns);
		for (int i = 0; i < nwatched; i++)
			print(watched[i], end.count[i] - begin.count[i]);
		begin = end;
	}
	return 0;
}
