/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Attributes of a task that may change while it lives: its weight, and the CPUs on which it may run. The functions
 * take the lock.
 */
#ifndef DIVVY_HOST_ATTRIBUTES_H
#define DIVVY_HOST_ATTRIBUTES_H

#include "host/decision_log.h"
#include "host/events.h"
#include "host/rules.h"
#include "host/statistics.h"

/* The weight that the machine is told: one that a command set is as it is. */
static __always_inline u64 asked_weight(const struct host_task *t)
{
	return t->has_own_weight ? t->weight : ruled(t->weight, t->rule);
}

/* Under the lock: its weight or its rule changed. */
static __always_inline void tell_weight(struct event *e)
{
	e->amount = asked_weight(host_task(e->id));
	tell(EVENT_set_weight, e);
	accounts[e->id & POOL_MASK].nominal = e->amount;
}

/* Its weight is that of its nice value, or one of its own. */
static __always_inline void set_weight(u32 id, u64 weight, bool is_own)
{
	struct event e = { .id = id, .now = clock_ns() };

	bpf_spin_lock(&lock);
	host_task(id)->weight = weight;
	host_task(id)->has_own_weight = is_own;
	tell_weight(&e);
	bpf_spin_unlock(&lock);
	log_event(EVENT_set_weight, &e, e.amount, 0, 0);
}

/* The task has a rule with this weight from now on, or none (0). Not static: the verifier checks it by itself. */
NOINLINE int follow_rule(u32 id, u64 weight)
{
	struct event e = { .id = id, .now = clock_ns() };

	if (host_task(id)->rule == weight)
		return 0;
	bpf_spin_lock(&lock);
	host_task(id)->rule = weight;
	tell_weight(&e);
	bpf_spin_unlock(&lock);
	log_event(EVENT_set_weight, &e, e.amount, 0, 0);
	return 0;
}

/* Returns the machine's CPUs [from, from + 64) that are in the mask. */
static NOINLINE u64 allowed_word(const struct cpumask *mask, u32 from)
{
	u64 word = 0;

	for (u32 i = 0; i < 64 && from + i < config.config.ncpus && can_loop; i++)
		if (bpf_cpumask_test_cpu(config.kernel_cpu[(from + i) & CPU_MASK], mask))
			word |= 1ull << i;
	return word;
}

/* A record has room for 64 CPUs; it says which. */
static __always_inline void log_allowed(struct event *e, u32 word, bool last)
{
	u32 kicked = e->cpu;

	e->cpu = word;
	log_event(EVENT_set_allowed, e, e->allowed.word[word], kicked, last);
	e->cpu = kicked;
}

static __always_inline void set_allowed(u32 id, const struct cpumask *mask)
{
	struct event e = { .id = id, .now = clock_ns() };

	e.allowed.word[0] = allowed_word(mask, 0);
	if (config.config.ncpus > 64) {
		e.allowed.word[1] = allowed_word(mask, 64);
		e.allowed.word[2] = allowed_word(mask, 128);
		e.allowed.word[3] = allowed_word(mask, 192);
	}
	bpf_spin_lock(&lock);
	tell(EVENT_set_allowed, &e);
	bpf_spin_unlock(&lock);
	kick(e.cpu);
	if (config.config.ncpus > 64) {
		log_allowed(&e, 3, false);
		log_allowed(&e, 2, false);
		log_allowed(&e, 1, false);
	}
	log_allowed(&e, 0, true);
}

#endif
