/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The CGI program of kernel/bench/clients. It reads a file, works on what it reads, and answers with a summary. The request is WAIT_US&WORK_US: how
 * long the file keeps it waiting, and how much CPU time it has from then on. The file is in memory, so the wait is a sleep.
 */
#define _GNU_SOURCE
#include "clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
	const char *asked = getenv("QUERY_STRING"), *path = getenv("SCRIPT_FILENAME");
	unsigned char block[1024];
	unsigned long long digest = 14695981039346656037ull;
	long wait_us, work_us, bytes = 0;
	long long until_ns;
	ssize_t n;
	int file;

	if (!asked || !path || sscanf(asked, "%ld&%ld", &wait_us, &work_us) != 2)
		return 2;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 1;
	prctl(PR_SET_TIMERSLACK, 1);
	usleep(wait_us);
	for (until_ns = used_ns() + work_us * 1000ll; used_ns() < until_ns; bytes += n) {
		n = read(file, block, sizeof(block));
		if (n < 0)
			return 1;
		if (n < (ssize_t)sizeof(block))
			lseek(file, 0, SEEK_SET);
		for (ssize_t i = 0; i < n; i++)
			digest = (digest ^ block[i]) * 1099511628211ull;
	}
	/* The client looks for the last character. */
	printf("Content-Type: text/plain\r\n\r\n%ld bytes, digest %llx~", bytes, digest);
	return 0;
}
