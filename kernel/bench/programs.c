/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs a command, and prints what the scheduler's BPF programs cost during it. Usage: programs COMMAND [ARGUMENT..] */
#include "command.h"
#include "programs.h"

int main(int argc, char **argv)
{
	int code;

	if (argc < 2) {
		fprintf(stderr, "usage: programs COMMAND [ARGUMENT..]\n");
		return 2;
	}
	if (!programs_begin()) {
		perror("programs: cannot enable the kernel's statistics of BPF programs");
		return 1;
	}
	code = command_run(argv + 1);
	if (code < 0)
		return 1;
	programs_end();
	return code;
}
