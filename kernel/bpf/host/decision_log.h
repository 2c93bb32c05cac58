/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The decision log: a record in a ring buffer for each event, if the loader asked for a log. A record has the event's
 * number, which is given out under the lock, so the reader can put records in order and see which are missing.
 *
 * The lock is not held here: the ring buffer is the kernel's.
 */
#ifndef DIVVY_HOST_DECISION_LOG_H
#define DIVVY_HOST_DECISION_LOG_H

#include "host/state.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LOG_BYTES);
} records SEC(".maps");

static __always_inline u32 cpu_and_shard(u32 cpu, u32 shard)
{
#ifdef DIVVY_SHARDS
	return (cpu & ((1 << LOG_SHARD) - 1)) | shard << LOG_SHARD;
#else
	return cpu;
#endif
}

/* Writes what the machine was told, and what it answered. */
static __always_inline void log_event(u32 shard, enum event_kind kind, const struct event *e, u64 value, u32 answer,
				      u8 why)
{
	struct record *r;

	if (!config.log)
		return;
	r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&stats.dropped, 1);
		return;
	}
	r->now = e->now;
	r->value = value;
	r->seq = e->seq;
	r->id = e->id;
	r->answer = answer;
	r->cpu = cpu_and_shard(e->cpu, shard);
	r->kind = kind;
	r->why = why;
	/* The loader polls the buffer. Waking it for each record would itself cause events, and so records. */
	bpf_ringbuf_submit(r, bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) > LOG_BYTES / 4 ? BPF_RB_FORCE_WAKEUP
											     : BPF_RB_NO_WAKEUP);
	__sync_fetch_and_add(&stats.records, 1);
}

#endif
