/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The clients of kernel/bench/clients. Each thinks, sends a request, waits for the answer, and thinks again. It keeps its connection if the server does.
 *
 *   clients PORT DURATION_MS FILE FIRST
 *
 * The FILE has a line for each request: CLIENT THINK_US TARGET, in the order of each client; clients are numbered from 0. Before all others each
 * client has asked for the target FIRST. Prints `answer CLIENT NUMBER SENT_US TOOK_US` for each request that is answered in time. This process is
 * real-time: it stands for machines on the network, which are not scheduled here.
 */
#define _GNU_SOURCE
#include "clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CLIENTS 64
#define MAX_REQUESTS 20000 /* of all clients */
#define OK "HTTP/1.1 200 "
#define END_OF_ANSWER '~' /* summary.c and shop.c write it, and nothing else does */
#define LAST_ON_IT "Connection: close"
#define MAX_TARGET 64
#define BLOCKS_S 2 /* a connection or a request that takes longer is an error */
#define FIRST_ANSWER_MS 30000
#define BEGINS_US 500000    /* a server that answers may need some time until it has all its workers */
#define LATE_NS 100000000ll /* a run that ends so much after its end did not measure what it should */

struct request {
	int client, next; /* the client's next one, or -1 */
	long think_us;
	char target[MAX_TARGET];
	long long sent_ns, took_ns; /* took_ns is 0 until it is answered */
};

struct client {
	int connection, now, last; /* -1 if it has none; requests: that at hand, and the last one read */
	bool waits;
	long long due_ns;
	size_t got;
	char answer[2048];
};

static struct request requests[MAX_REQUESTS];
static struct client clients[MAX_CLIENTS];
static int nrequests, nclients, port;

static void fail(const char *what)
{
	fprintf(stderr, "clients: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
	exit(1);
}

/* ---- what they ask ---- */

static void append(struct request *r, int number)
{
	struct client *c = &clients[r->client];

	if (r->client >= nclients) {
		if (r->client != nclients)
			fail("a client is missing in the file");
		nclients++;
		c->now = number;
	} else {
		requests[c->last].next = number;
	}
	c->last = number;
}

static void read_requests(const char *path)
{
	FILE *file = fopen(path, "r");
	struct request r = { .next = -1 };

	if (!file)
		fail(path);
	while (fscanf(file, "%d %ld %63s", &r.client, &r.think_us, r.target) == 3) {
		errno = 0;
		if (nrequests == MAX_REQUESTS || r.client < 0 || r.client >= MAX_CLIENTS)
			fail("too many requests or clients");
		requests[nrequests] = r;
		append(&requests[nrequests], nrequests);
		nrequests++;
	}
	errno = 0;
	if (!feof(file) || !nrequests)
		fail("the file of requests does not read");
	fclose(file);
}

/* ---- the connections ---- */

static int call(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct timeval longest = { .tv_sec = BLOCKS_S }; /* it bounds connect as well */
	int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	errno = 0;
	if (connection < 0 || setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest)))
		fail("no socket");
	if (connect(connection, (struct sockaddr *)&to, sizeof(to))) {
		close(connection);
		return -1;
	}
	return connection;
}

static void send_request(struct client *c, const char *target)
{
	char text[256];
	int bytes = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target);

	if (send(c->connection, text, bytes, MSG_NOSIGNAL) != bytes)
		fail("cannot send a request");
	c->got = 0;
}

static void ask(struct client *c)
{
	struct request *r = &requests[c->now];

	r->sent_ns = now_ns();
	if (c->connection < 0)
		c->connection = call();
	if (c->connection < 0)
		fail("cannot connect to the server");
	send_request(c, r->target);
	c->waits = true;
}

/* Returns whether the answer is complete. */
static bool take_some(struct client *c)
{
	ssize_t n = recv(c->connection, c->answer + c->got, sizeof(c->answer) - 1 - c->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0)
		fail("the server ended a connection");
	c->got += n;
	c->answer[c->got] = 0;
	errno = 0;
	if (c->got >= strlen(OK) && strncmp(c->answer, OK, strlen(OK)))
		fail(c->answer);
	if (!strchr(c->answer, END_OF_ANSWER))
		return false;
	if (strstr(c->answer, LAST_ON_IT)) {
		close(c->connection);
		c->connection = -1;
	}
	return true;
}

/* It may not listen yet. */
static void ask_first(struct client *c, const char *target)
{
	long long last_ns;

	for (int tries = 0; (c->connection = call()) < 0; tries++) {
		if (tries == 300)
			fail("cannot connect to the server");
		usleep(100000);
	}
	send_request(c, target);
	last_ns = now_ns() + FIRST_ANSWER_MS * 1000000ll;
	while (!take_some(c)) {
		errno = 0;
		if (now_ns() > last_ns)
			fail("the server does not answer");
		usleep(10000);
	}
}

/* ---- the run ---- */

static void think(struct client *c, long long from_ns)
{
	errno = 0;
	if (c->now < 0)
		fail("a client has no request left");
	c->waits = false;
	c->due_ns = from_ns + requests[c->now].think_us * 1000ll;
}

static void step(long long end_ns)
{
	struct pollfd ready[MAX_CLIENTS];
	long long next_ns = end_ns, left_ns;
	struct timespec left;
	int n;

	for (int i = 0; i < nclients; i++) {
		struct client *c = &clients[i];

		if (!c->waits && c->due_ns <= now_ns())
			ask(c);
		if (!c->waits && c->due_ns < next_ns)
			next_ns = c->due_ns;
		/* poll leaves out what is below 0. */
		ready[i] = (struct pollfd){ .fd = c->waits ? c->connection : -1, .events = POLLIN };
	}
	left_ns = next_ns - now_ns();
	if (left_ns < 0)
		left_ns = 0;
	left = (struct timespec){ .tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000 };
	n = ppoll(ready, nclients, &left, NULL);
	if (n < 0 && errno != EINTR)
		fail("cannot wait for answers");
	if (n <= 0)
		return;
	for (int i = 0; i < nclients; i++) {
		struct client *c = &clients[i];

		if (!ready[i].revents || !take_some(c))
			continue;
		requests[c->now].took_ns = now_ns() - requests[c->now].sent_ns;
		c->now = requests[c->now].next;
		think(c, now_ns());
	}
}

static void print(long long begin_ns)
{
	int numbers[MAX_CLIENTS] = { 0 };

	for (int i = 0; i < nrequests; i++) {
		struct request *r = &requests[i];
		int number = numbers[r->client]++;

		if (r->took_ns)
			printf("answer %d %d %lld %lld\n", r->client, number, (r->sent_ns - begin_ns) / 1000,
			       r->took_ns / 1000);
	}
}

int main(int argc, char **argv)
{
	struct sched_param above = { .sched_priority = 10 };
	long long begin_ns, end_ns;
	long duration_ms = argc == 5 ? atol(argv[2]) : 0;

	port = argc == 5 ? atoi(argv[1]) : 0;
	if (port < 1 || duration_ms < 1) {
		fprintf(stderr, "usage: clients PORT DURATION_MS FILE FIRST\n");
		return 2;
	}
	read_requests(argv[3]);
	for (int i = 0; i < nclients; i++)
		ask_first(&clients[i], argv[4]);
	usleep(BEGINS_US);
	prctl(PR_SET_TIMERSLACK, 1);
	if (sched_setscheduler(0, SCHED_FIFO, &above))
		fail("cannot become real-time");
	begin_ns = now_ns();
	end_ns = begin_ns + duration_ms * 1000000ll;
	for (int i = 0; i < nclients; i++)
		think(&clients[i], begin_ns);
	while (now_ns() < end_ns)
		step(end_ns);
	errno = 0;
	if (now_ns() > end_ns + LATE_NS)
		fail("the run ended too late");
	print(begin_ns);
	return 0;
}
