/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef BENCH_POSTGRES_H
#define BENCH_POSTGRES_H

#include "fail.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * A connection to PostgreSQL, by its protocol 3.0: as user `shop` of the database `postgres`, without a password. So no library of it is needed.
 */
static int postgres = -1;

static bool read_all(void *to, size_t bytes)
{
	for (size_t got = 0; got < bytes;) {
		ssize_t n = recv(postgres, (char *)to + got, bytes - got, 0);

		if (n <= 0)
			return false;
		got += n;
	}
	return true;
}

/* Reads messages until it is ready for the next query. Text has the last one, which is an error if this is false. */
static bool until_ready(char *text, size_t size)
{
	for (;;) {
		char kind;
		uint32_t length;

		snprintf(text, size, "PostgreSQL ended the connection");
		if (!read_all(&kind, 1) || !read_all(&length, 4))
			return false;
		length = ntohl(length) - 4;
		if (length >= size) {
			snprintf(text, size, "PostgreSQL sent a message of %u bytes", length);
			return false;
		}
		if (!read_all(text, length))
			return false;
		text[length] = 0;
		if (kind == 'Z')
			return true;
		if (kind != 'E')
			continue;
		/* Fields of an error end with a 0 each. */
		for (uint32_t i = 0; i < length; i++)
			if (!text[i])
				text[i] = ' ';
		return false;
	}
}

static bool try_postgres(const char *directory, char *said, size_t size)
{
	static const char names[] = "user\0shop\0database\0postgres\0";
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	uint32_t head[2] = { htonl(sizeof(head) + sizeof(names)), htonl(3 << 16) };
	char message[sizeof(head) + sizeof(names)];

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/.s.PGSQL.5432", directory);
	memcpy(message, head, sizeof(head));
	memcpy(message + sizeof(head), names, sizeof(names));
	snprintf(said, size, "%s is not there, or does not listen", at.sun_path);
	postgres = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (postgres < 0)
		fail("socket");
	if (!connect(postgres, (struct sockaddr *)&at, sizeof(at)) &&
	    send(postgres, message, sizeof(message), MSG_NOSIGNAL) == sizeof(message) && until_ready(said, size))
		return true;
	close(postgres);
	return false;
}

/* It may not be ready yet. */
static void connect_postgres(const char *directory)
{
	char said[2048];

	for (int tries = 0; tries < 300; tries++) {
		if (try_postgres(directory, said, sizeof(said)))
			return;
		usleep(100000);
	}
	fprintf(stderr, "shop: cannot connect: %s\n", said);
	exit(1);
}

/* Asks, and waits for the end of the answer. */
static void ask_postgres(const char *sql)
{
	char message[1024], said[8192];
	uint32_t bytes = strlen(sql) + 1, length = htonl(bytes + 4);

	if (bytes + 5 > sizeof(message)) {
		fprintf(stderr, "shop: a query is too long: %s\n", sql);
		exit(1);
	}
	message[0] = 'Q';
	memcpy(message + 1, &length, 4);
	memcpy(message + 5, sql, bytes);
	if (send(postgres, message, bytes + 5, MSG_NOSIGNAL) != bytes + 5)
		fail("cannot ask PostgreSQL");
	if (until_ready(said, sizeof(said)))
		return;
	fprintf(stderr, "shop: %s: %s\n", sql, said);
	exit(1);
}

#endif
