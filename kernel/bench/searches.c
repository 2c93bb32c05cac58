/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The clients of several web servers on this machine, and a clock of their workers' CPU time. Each worker has a connection that always has
 * requests, so it makes one search after the other, as the workers of the paper do.
 *
 *   searches WORKERS WARM_UP_MS TOTAL_MS weight|nice VALUE,.. MASTER:PORT..
 *
 * MASTER is the process whose children are the server's WORKERS. Each worker, server by server, gets a VALUE: a weight from the loaded divvy, or a
 * nice value. Prints `cpu NS ..`, the CPU time of each worker, every 20 ms, until the workers together have had WARM_UP_MS and then TOTAL_MS; and at last
 * `searches N ..`, how many each server has made meanwhile. This process is real-time: it stands for machines on the network, which are not scheduled here.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_SERVERS 6
#define MAX_WORKERS 600 /* of all servers */
#define STEP_MS 20
#define WAITING \
	128 /* requests that a worker has before it: more than it can serve between two steps, which is checked */
#define MAX_STEPS 20000
/* If the machine gives them less than a quarter of a CPU, there is nothing to measure. */
#define SLOWEST 4
#define MOST_REQUESTS 100000 /* of a connection */

#define REQUEST "GET /search HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define END_OF_ANSWER '~' /* search.lua writes it, and nothing else does */

struct worker {
	pid_t pid;
	clockid_t clock;
	int connection, server;
	long sent, answered;
};

static struct worker workers[MAX_WORKERS];
static long long *used; /* ns, step by step */
static int nworkers, per_server, nservers;

static void fail(const char *what)
{
	fprintf(stderr, "searches: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
	exit(1);
}

/* ---- the workers ---- */

static pid_t parent_of(const char *process)
{
	char path[300], line[512] = "", *after;
	int file, parent = 0;

	snprintf(path, sizeof(path), "/proc/%s/stat", process);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	if (read(file, line, sizeof(line) - 1) > 0 && (after = strrchr(line, ')')))
		sscanf(after + 1, " %*c %d", &parent);
	close(file);
	return parent;
}

static int find_children(pid_t master)
{
	DIR *all = opendir("/proc");
	struct dirent *process;
	int found = 0;

	while (all && (process = readdir(all))) {
		if (!isdigit((unsigned char)process->d_name[0]) || parent_of(process->d_name) != master)
			continue;
		if (found < per_server)
			workers[nworkers + found].pid = atoi(process->d_name);
		found++;
	}
	if (all)
		closedir(all);
	return found;
}

/* A server has all its workers some time after it began. */
static void find_workers(pid_t master)
{
	for (int tries = 0; find_children(master) != per_server; tries++) {
		errno = 0;
		if (tries == 300)
			fail("a server does not have its workers");
		usleep(100000);
	}
	for (int i = 0; i < per_server; i++) {
		struct worker *w = &workers[nworkers + i];

		w->server = nservers;
		errno = clock_getcpuclockid(w->pid, &w->clock);
		if (errno)
			fail("no clock of a worker");
	}
}

static void ask_for_weight(pid_t pid, long weight)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "/run/divvy/divvy.sock" };
	int to = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char line[256] = "";

	if (to < 0 || connect(to, (struct sockaddr *)&at, sizeof(at)))
		fail("the loaded scheduler cannot be reached");
	/* The protocol's weights are in 1/1024. */
	dprintf(to, "{\"command\":\"set_weight\",\"pid\":%d,\"weight\":%ld}\n", pid, weight * 1024);
	if (read(to, line, sizeof(line) - 1) <= 0 || !strstr(line, "\"weight\":")) {
		errno = 0;
		fail(*line ? line : "the loaded scheduler does not answer");
	}
	close(to);
}

static void give(const char *kind, char *values)
{
	char *value = strtok(values, ",");

	for (int i = 0; i < nworkers; i++, value = strtok(NULL, ",")) {
		errno = 0;
		if (!value)
			fail("a value for each worker is needed");
		if (setpriority(PRIO_PROCESS, workers[i].pid, !strcmp(kind, "nice") ? atoi(value) : 0))
			fail("cannot set a nice value");
		if (!strcmp(kind, "weight"))
			ask_for_weight(workers[i].pid, atol(value));
	}
}

/* ---- their requests ---- */

static void call(struct worker *w, int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	w->connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (w->connection < 0 || connect(w->connection, (struct sockaddr *)&to, sizeof(to)))
		fail("cannot connect to a server");
}

static void fill(struct worker *w)
{
	char requests[WAITING * (sizeof(REQUEST) - 1)];
	size_t bytes = 0;

	for (; w->sent < w->answered + WAITING && w->sent < MOST_REQUESTS; w->sent++) {
		memcpy(requests + bytes, REQUEST, sizeof(REQUEST) - 1);
		bytes += sizeof(REQUEST) - 1;
	}
	errno = 0;
	if (bytes && send(w->connection, requests, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		fail("cannot send requests");
}

/* One that is cut is not seen; a server that fails does so again. */
static void check_answers(const char *text, size_t n)
{
	const char *end = text + n;

	while ((text = memmem(text, end - text, "HTTP/1.1 ", 9)) && (text += 9) + 3 <= end)
		if (memcmp(text, "200", 3)) {
			errno = 0;
			fail("a server answers something else than 200");
		}
}

/* Returns false if there is none. */
static bool take_some(struct worker *w, int flags)
{
	char text[65536];
	ssize_t n;

	errno = 0;
	n = recv(w->connection, text, sizeof(text), flags);
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0)
		fail("a server ended a connection");
	check_answers(text, n);
	for (char *at = text; (at = memchr(at, END_OF_ANSWER, text + n - at)); at++)
		w->answered++;
	return true;
}

/* A worker waits for files in its first search, and in no other. */
static void make_first_searches(void)
{
	for (int i = 0; i < nworkers; i++)
		if (send(workers[i].connection, REQUEST, strlen(REQUEST), MSG_NOSIGNAL) != (ssize_t)strlen(REQUEST))
			fail("cannot send a request");
	for (int i = 0; i < nworkers; i++)
		for (workers[i].sent = 1; !workers[i].answered;)
			take_some(&workers[i], 0);
}

static void serve_waiting(void)
{
	struct pollfd ready[MAX_WORKERS];

	for (int i = 0; i < nworkers; i++)
		ready[i] = (struct pollfd){ .fd = workers[i].connection, .events = POLLIN };
	if (poll(ready, nworkers, 0) <= 0)
		return;
	for (int i = 0; i < nworkers; i++)
		if (ready[i].revents) {
			while (take_some(&workers[i], MSG_DONTWAIT))
				;
			errno = 0;
			if (workers[i].answered >= workers[i].sent)
				fail("a worker had no request left, so it did not always run");
			fill(&workers[i]);
		}
}

/* ---- the clock ---- */

static long long read_clocks(long long *now)
{
	long long all = 0;

	for (int i = 0; i < nworkers; i++) {
		struct timespec t;

		if (clock_gettime(workers[i].clock, &t))
			fail("a worker has ended");
		now[i] = t.tv_sec * 1000000000ll + t.tv_nsec;
		all += now[i];
	}
	return all;
}

static void searches_of_servers(long *sums)
{
	memset(sums, 0, MAX_SERVERS * sizeof(*sums));
	for (int i = 0; i < nworkers; i++)
		sums[workers[i].server] += workers[i].answered;
}

static void step(struct timespec *at)
{
	at->tv_nsec += STEP_MS * 1000000;
	if (at->tv_nsec >= 1000000000) {
		at->tv_nsec -= 1000000000;
		at->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, at, NULL);
	serve_waiting();
}

static void measure(long long warm_up_ns, long long total_ns)
{
	long before[MAX_SERVERS], after[MAX_SERVERS];
	long long scratch[MAX_WORKERS], begin, end;
	struct timespec at;
	long nsteps = 0, most = (warm_up_ns + total_ns) / (STEP_MS * 1000000ll) * SLOWEST + 100;

	clock_gettime(CLOCK_MONOTONIC, &at);
	begin = read_clocks(scratch) + warm_up_ns;
	for (int i = 0; i < nworkers; i++)
		fill(&workers[i]);
	for (long i = 0; read_clocks(scratch) < begin; i++, step(&at))
		if (i > most)
			fail("the workers do not work");
	searches_of_servers(before);
	begin = end = read_clocks(used);
	for (nsteps = 1; end < begin + total_ns; nsteps++) {
		errno = 0;
		if (nsteps >= most || nsteps >= MAX_STEPS)
			fail("the workers do not work");
		step(&at);
		end = read_clocks(&used[nsteps * nworkers]);
	}
	searches_of_servers(after);
	for (long i = 0; i < nsteps; i++) {
		printf("cpu");
		for (int j = 0; j < nworkers; j++)
			printf(" %lld", used[i * nworkers + j] - used[j]);
		printf("\n");
	}
	printf("searches");
	for (int i = 0; i < nservers; i++)
		printf(" %ld", after[i] - before[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	struct sched_param above = { .sched_priority = 10 };
	long warm_up_ms = argc > 6 ? atol(argv[2]) : 0, total_ms = argc > 6 ? atol(argv[3]) : 0;

	per_server = argc > 6 ? atoi(argv[1]) : 0;
	if (per_server < 1 || warm_up_ms < 0 || total_ms < 1 || argc - 6 > MAX_SERVERS ||
	    per_server * (argc - 6) > MAX_WORKERS || (strcmp(argv[4], "weight") && strcmp(argv[4], "nice"))) {
		fprintf(stderr, "usage: searches WORKERS WARM_UP_MS TOTAL_MS weight|nice VALUE,.. MASTER:PORT..\n");
		return 2;
	}
	used = calloc((size_t)MAX_STEPS * per_server * (argc - 6), sizeof(*used));
	if (!used)
		fail("no memory");
	for (int i = 6; i < argc; i++, nservers++, nworkers += per_server)
		find_workers(atoi(argv[i]));
	for (int i = 0; i < nworkers; i++) {
		char *port = strchr(argv[6 + workers[i].server], ':');

		call(&workers[i], port ? atoi(port + 1) : 0);
	}
	make_first_searches();
	give(argv[4], argv[5]);
	if (sched_setscheduler(0, SCHED_FIFO, &above))
		fail("cannot become real-time");
	measure(warm_up_ms * 1000000, total_ms * 1000000);
	return 0;
}
