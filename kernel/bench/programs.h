/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measures the cost of a scheduler's BPF programs: the kernel counts runs and time of each after programs_begin. */
#ifndef BENCH_PROGRAMS_H
#define BENCH_PROGRAMS_H

#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Instructions between the kernel's two readings of the clock that do not belong to the program: host_stopping, when it
 * has nothing to do, takes 20 by QEMU's trace, and is counted as 82. */
#define MEASURING 62
#define MAX_PROGRAMS 256

static struct bpf_prog_info before[MAX_PROGRAMS];
static int counting;

/* Finds the scheduler's next program after this id, and sets the id to its id. */
static inline int programs_next(unsigned *id, struct bpf_prog_info *info)
{
	while (!bpf_prog_get_next_id(*id, id)) {
		unsigned size = sizeof(*info);
		int fd = bpf_prog_get_fd_by_id(*id), found;

		memset(info, 0, size);
		found = fd >= 0 && !bpf_obj_get_info_by_fd(fd, info, &size) && info->type == BPF_PROG_TYPE_STRUCT_OPS;
		if (fd >= 0)
			close(fd);
		if (found)
			return 1;
	}
	return 0;
}

static inline int programs_begin(void)
{
	unsigned id = 0;
	int n = 0;

	while (n < MAX_PROGRAMS && programs_next(&id, &before[n]))
		n++;
	counting = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return counting >= 0;
}

/* Prints a line for each program that ran: name, runs, instructions of all runs. */
static inline void programs_end(void)
{
	struct bpf_prog_info info;
	unsigned id = 0;
	long long runs;

	close(counting);
	for (int i = 0; i < MAX_PROGRAMS && programs_next(&id, &info); i++) {
		runs = info.run_cnt - before[i].run_cnt;
		if (runs && info.id == before[i].id)
			printf("program %s %lld %lld\n", info.name, runs,
			       (long long)(info.run_time_ns - before[i].run_time_ns) - MEASURING * runs);
	}
}

#endif
