/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The host's timers. */
#ifndef DIVVY_HOST_TIMERS_H
#define DIVVY_HOST_TIMERS_H

#include "kernel.h"

enum { STARVATION_TIMER, RELEASE_TIMER, TIMERS };

struct host_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TIMERS);
	__type(key, u32);
	__type(value, struct host_timer);
} timers SEC(".maps");

static __always_inline struct host_timer *find_timer(u32 which)
{
	return bpf_map_lookup_elem(&timers, &which);
}

/* A timer does not come earlier. */
#define SHORTEST_TIMER_NS 100000ull

#endif
