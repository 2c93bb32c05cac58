/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Rules: weights by executable, cgroup and user, which the loader reads from a file of names, and writes into the map `rules` as numbers
 * of this machine. The map changes while the scheduler runs.
 *
 * A rule's weight takes the place of nice 0's, so nice values still say who of the same rule gets more. Of several rules the one of the
 * executable holds, or else that of the nearest cgroup, or else that of the user. Where the machine has groups of cgroups or of
 * users, a rule of that kind is the weight of the group, and tasks compare within it.
 *
 * A task has its rule when it executes a program, and what it forks begins with the same one. It may also come to another cgroup or
 * user, and the map may change: so the loader has all tasks looked at once a second (command_follow_rules).
 *
 * Without rules config.rules is 0, and the verifier leaves all of this out.
 */
#ifndef DIVVY_HOST_RULES_H
#define DIVVY_HOST_RULES_H

#include "host/state.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_RULES);
	__type(key, struct rule_key);
	__type(value, u64);
} rules SEC(".maps");

/* The weight of this rule, or 0 */
static __always_inline u64 weight_by_key(struct rule_key key)
{
	u64 *weight = config.rules ? bpf_map_lookup_elem(&rules, &key) : NULL;

	return weight ? *weight : 0;
}

/* The weight of the rule for the user or cgroup with this number, or 0 */
static __always_inline u64 weight_by_rule(u32 kind, u64 number)
{
	return weight_by_key((struct rule_key){ .kind = kind, .number = number });
}

/* A weight from the kernel with that of a rule in the place of nice 0's. Weights of rules are below 2^37, and nice values' below 2^27. */
static __always_inline u64 ruled(u64 weight, u64 rule)
{
	u64 product;

	if (!rule)
		return weight;
	product = rule * weight / WEIGHT_NICE_0;
	return product < MOST_BY_RULE ? product ?: WEIGHT_MIN : MOST_BY_RULE;
}

#endif
