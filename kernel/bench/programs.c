/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs a command, and prints what the scheduler's BPF programs cost during it. Usage: programs COMMAND [ARGUMENT..] */
#include "programs.h"

#include <stdlib.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: programs COMMAND [ARGUMENT..]\n");
		return 2;
	}
	if (!programs_begin()) {
		perror("programs: cannot enable the kernel's statistics of BPF programs");
		return 1;
	}
	child = fork();
	if (!child) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		perror("programs");
		return 1;
	}
	programs_end();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
