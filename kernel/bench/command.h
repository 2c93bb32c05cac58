/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs a command to its end. */
#ifndef BENCH_COMMAND_H
#define BENCH_COMMAND_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns its exit code, 1 if a signal ended it, or -1 if it could not be run, which it says. */
static inline int command_run(char **argv)
{
	int status;
	pid_t child = fork();

	if (!child) {
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		perror(argv[0]);
		return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

#endif
