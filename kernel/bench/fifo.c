/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs a command under the scheduler of fifo.bpf.c. Usage: fifo OBJECT COMMAND [ARGUMENT..] */
#include "command.h"

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <string.h>

static bool is_scheduler(void)
{
	char state[16] = "";
	FILE *file = fopen("/sys/kernel/sched_ext/state", "r");

	if (file) {
		if (!fgets(state, sizeof(state), file))
			state[0] = 0;
		fclose(file);
	}
	return !strcmp(state, "enabled\n");
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct bpf_link *link;
	int code;

	if (argc < 3) {
		fprintf(stderr, "usage: fifo OBJECT COMMAND [ARGUMENT..]\n");
		return 2;
	}
	object = bpf_object__open_file(argv[1], NULL);
	if (object)
		bpf_program__set_flags(bpf_object__find_program_by_name(object, "fifo_init"), BPF_F_SLEEPABLE);
	if (!object || bpf_object__load(object)) {
		fprintf(stderr, "fifo: %s cannot be loaded\n", argv[1]);
		return 1;
	}
	link = bpf_map__attach_struct_ops(bpf_object__find_map_by_name(object, "fifo"));
	if (!link) {
		perror("fifo: the scheduler cannot be started");
		return 1;
	}
	code = command_run(argv + 2);
	if (code < 0)
		return 1;
	if (!is_scheduler()) {
		fprintf(stderr, "fifo: the kernel has ended the scheduler, so the measurement is of another\n");
		return 1;
	}
	bpf_link__destroy(link);
	return code;
}
