/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The application of kernel/bench/clients' shop. Each of its processes has a connection to PostgreSQL, and serves the requests of one connection at a time.
 *
 *   shop serve PORT PROCESSES DIRECTORY RATES    makes the file DIRECTORY/listens when it does
 *   shop rates DIRECTORY                         measures each kind of query: the CPU time in ms that it has besides its rows, and rows in 1 ms
 *
 * The database listens in the DIRECTORY. A request is BEFORE_US&KIND&WAIT_MS&WORK_US&AFTER_US: CPU time of this program before and after it asks the
 * database; the number of the query; how long the database waits for its disk, which is a sleep; and its CPU time from then on, as the file RATES has
 * it. The database has a time without rows too, and this program one without work.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "fail.h"
#include "postgres.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Queries of the database, by the number of rows that it looks at. Sizes of tables are those of shop.sql; a table is looked at again and
 * again. The queries in it say by `g` which is looked at for each row of the other. */
static const struct query {
	const char *name, *sql;
	long few, many; /* rows, between which time grows as rows do */
} queries[] = {
	{ "detail",
	  "SELECT count(i_title) FROM (SELECT g FROM generate_series(1, $1) g) s, "
	  "LATERAL (SELECT i_title FROM item WHERE i_id = 1 + g % 1000 OFFSET 0) i",
	  50, 10000 },
	{ "search",
	  "SELECT count(*) FROM (SELECT i_title FROM generate_series(0, $1 / 1000) g, "
	  "LATERAL (SELECT i_title FROM item WHERE g >= 0 OFFSET 0) i LIMIT $1) s WHERE i_title LIKE '%7a%'",
	  1000, 50000 },
	{ "best_sellers",
	  "SELECT ol_i_id, sum(ol_qty) FROM (SELECT ol_i_id, ol_qty FROM generate_series(0, $1 / 10000) g, "
	  "LATERAL (SELECT ol_i_id, ol_qty FROM order_line WHERE g >= 0 OFFSET 0) o LIMIT $1) s "
	  "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 50",
	  1000, 100000 },
};
#define QUERIES (sizeof(queries) / sizeof(queries[0]))

static struct {
	double besides_ms, rows_per_ms;
} rates[QUERIES];

static void prepare(void)
{
	char text[512];

	ask_postgres("SET plan_cache_mode = force_generic_plan");
	ask_postgres("SET enable_material = off"); /* a table that is kept is faster from the second time on */
	for (size_t i = 0; i < QUERIES; i++) {
		snprintf(text, sizeof(text), "PREPARE %s(int) AS %s", queries[i].name, queries[i].sql);
		ask_postgres(text);
	}
}

/* ---- rates ---- */

static double took_ms(const struct query *q, long rows, int times)
{
	char text[64];
	long long begin_ns;

	snprintf(text, sizeof(text), "EXECUTE %s(%ld)", q->name, rows);
	ask_postgres(text); /* it is read into memory, and planned */
	begin_ns = now_ns();
	for (int i = 0; i < times; i++)
		ask_postgres(text);
	return (now_ns() - begin_ns) / 1e6 / times;
}

static void print_rates(void)
{
	for (size_t i = 0; i < QUERIES; i++) {
		const struct query *q = &queries[i];
		double none_ms = took_ms(q, 0, 20), few_ms = took_ms(q, q->few, 10);
		double row_ms = (took_ms(q, q->many, 3) - few_ms) / (q->many - q->few);

		printf("%s %.6f %.3f\n", q->name, few_ms - q->few * row_ms - none_ms, 1 / row_ms);
	}
}

static void read_rates(const char *path)
{
	FILE *file = fopen(path, "r");
	char name[32];

	if (!file)
		fail(path);
	for (size_t i = 0; i < QUERIES; i++)
		if (fscanf(file, "%31s %lf %lf", name, &rates[i].besides_ms, &rates[i].rows_per_ms) != 3 ||
		    strcmp(name, queries[i].name) || !(rates[i].rows_per_ms > 0))
			fail("the file of rates does not read");
	fclose(file);
}

/* ---- requests ---- */

static char page[1024];

/* Works on the page for so long. */
static void work(long us)
{
	unsigned long long digest = 14695981039346656037ull;

	for (long long until_ns = used_ns() + us * 1000ll; used_ns() < until_ns;)
		for (size_t i = 0; i < sizeof(page) - 1; i++)
			digest = (digest ^ page[i]) * 1099511628211ull;
	snprintf(page, sizeof(page), "digest %llx", digest);
}

static int answer(const char *request, char *text, size_t size)
{
	long before_us, wait_ms, work_us, after_us, rows;
	unsigned kind;
	char query[96], sleep[32] = "", body[128];

	if (sscanf(request, "GET /shop?%ld&%u&%ld&%ld&%ld ", &before_us, &kind, &wait_ms, &work_us, &after_us) != 5 ||
	    kind >= QUERIES || wait_ms < 0 || work_us < 0)
		return snprintf(text, size, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
	work(before_us);
	rows = (work_us / 1e3 - rates[kind].besides_ms) * rates[kind].rows_per_ms;
	if (rows < 0)
		rows = 0;
	/* It sleeps for whole ms, the next number at or above this one. Its times are floating-point, so 2 ms may be a little more than 2. */
	if (wait_ms)
		snprintf(sleep, sizeof(sleep), "SELECT pg_sleep(%g);", (wait_ms - 0.1) / 1e3);
	snprintf(query, sizeof(query), "%sEXECUTE %s(%ld)", sleep, queries[kind].name, rows);
	ask_postgres(query);
	work(after_us);
	/* The client looks for the last character. */
	snprintf(body, sizeof(body), "%s, %ld rows, %.40s~", queries[kind].name, rows, page);
	return snprintf(text, size, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s",
			strlen(body), body);
}

static void serve_connection(int connection)
{
	char request[4096], text[512];
	size_t got = 0;

	for (;;) {
		ssize_t n = recv(connection, request + got, sizeof(request) - 1 - got, 0);

		if (n <= 0)
			return;
		got += n;
		request[got] = 0;
		if (!strstr(request, "\r\n\r\n"))
			continue;
		n = answer(request, text, sizeof(text));
		if (send(connection, text, n, MSG_NOSIGNAL) != n)
			return;
		got = 0;
	}
}

static void serve_all(int listening)
{
	for (;;) {
		int on = 1, connection = accept(listening, NULL, NULL);

		if (connection < 0)
			fail("accept");
		if (setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
			fail("TCP_NODELAY");
		serve_connection(connection);
		close(connection);
	}
}

static int listen_at(int port, int processes)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listening < 0 || bind(listening, (struct sockaddr *)&at, sizeof(at)) || listen(listening, processes))
		fail("cannot listen");
	return listening;
}

static void serve(int port, int processes, const char *directory, const char *rates)
{
	char path[256];
	int listening = listen_at(port, processes), file;

	read_rates(rates);
	for (int i = 0; i < processes; i++) {
		pid_t child = fork();

		if (child < 0)
			fail("fork");
		if (child)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		connect_postgres(directory);
		prepare();
		serve_all(listening);
	}
	snprintf(path, sizeof(path), "%s/listens", directory);
	file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (file < 0)
		fail(path);
	close(file);
	/* None of them ends, unless it fails. */
	wait(NULL);
	exit(1);
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "serve")) {
		serve(atoi(argv[2]), atoi(argv[3]), argv[4], argv[5]);
	} else if (argc == 3 && !strcmp(argv[1], "rates")) {
		connect_postgres(argv[2]);
		prepare();
		print_rates();
	} else {
		fprintf(stderr, "usage: shop serve PORT PROCESSES DIRECTORY RATES | rates DIRECTORY\n");
		return 2;
	}
	return 0;
}
