/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The scheduler ends: why, and what the kernel prints when it throws it out. */
#ifndef DIVVY_HOST_ENDING_H
#define DIVVY_HOST_ENDING_H

#include "host/state.h"

SEC("struct_ops/exit")
void BPF_PROG(host_exit, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(exit_info.reason, sizeof(exit_info.reason), info->reason);
	bpf_probe_read_kernel_str(exit_info.msg, sizeof(exit_info.msg), info->msg);
	bpf_probe_read_kernel_str(exit_info.dump, sizeof(exit_info.dump), info->dump);
	exit_info.code = info->exit_code;
	exit_info.kind = info->kind;
}

/* The kernel prints this when it throws the scheduler out. */
SEC("struct_ops/dump")
void BPF_PROG(host_dump, struct scx_dump_ctx *dump)
{
	static char format[] = "divvy: %llu runnable, %llu decisions, %llu faults, %llu missing, %llu late\n";
	unsigned long long data[] = {
		OVER_SHARDS(s.tasks.nrunnable), OVER_SHARDS(decisions), OVER_SHARDS(faults), stats.missing, stats.late,
	};

	if (ksym_exists(scx_bpf_dump_bstr))
		scx_bpf_dump_bstr(format, data, sizeof(data));
}

#endif
