/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Attributes of a task that may change while it lives: its weight, and the CPUs on which it may run. The functions
 * take the lock.
 */
#ifndef DIVVY_HOST_ATTRIBUTES_H
#define DIVVY_HOST_ATTRIBUTES_H

#include "host/decision_log.h"
#include "host/events.h"
#include "host/published.h"
#include "host/rules.h"
#include "host/shard_cpus.h"
#include "host/statistics.h"
#include "host/weighing.h"

/* The weight or the rule that a task has from now on */
struct wish {
	u64 weight, rule;
	bool is_own, is_rule;
};

/* Under the lock of whoever is told of it */
static __always_inline void grant(struct host_task *t, struct wish wish)
{
	if (wish.is_rule) {
		t->rule = wish.rule;
		return;
	}
	t->weight = wish.weight;
	t->has_own_weight = wish.is_own;
}

/* The weight that the machine is told: one that a command set is as it is. */
static __always_inline u64 asked_weight(const struct host_task *t)
{
	return t->has_own_weight ? t->weight : ruled(t->weight, t->rule);
}

/* Under the shard's lock: the weight that the task's machine is told. */
static __always_inline u64 weight_to_tell(u32 id)
{
#ifdef DIVVY_SHARDS
	if (has_weigher() && machine_task(weigher(), id)->state & RUNNABLE)
		return weight_of(&weigher()->s.tasks, id);
#endif
	return asked_weight(host_task(id));
}

/* Under the shard's lock: its weight or its rule changed, or the weigher has another weight for it. */
static __always_inline void tell_weight(struct event *e)
{
	u32 shard = shard_of(e->id);

	e->amount = weight_to_tell(e->id);
#ifdef DIVVY_SHARDS
	e->now = machine_now(machine_at(shard), e->now);
	machine_set_plain_weight(machine_at(shard), e->id, e->amount, e->now);
	note_load(shard, e->id);
	number_event(shard, e);
	if (has_weigher())
		return;
#else
	tell(shard, EVENT_set_weight, e);
#endif
	accounts[e->id & POOL_MASK].nominal = e->amount;
}

/* Under the shard's lock: whether the task is there. A weight or a rule may change at any time, also while it moves to another shard:
 * tell_weight_after_moves. */
static __always_inline bool is_still_in(u32 shard, u32 id)
{
#ifdef DIVVY_SHARDS
	return shard == shard_of(id) && task_in_machine(id)->state & KNOWN;
#else
	return true;
#endif
}

#ifdef DIVVY_SHARDS
/* Under the shard's lock: whether its machine has another weight for the task than it is to have. */
static __always_inline bool has_other_weight(u32 shard, u32 id)
{
	return machine_task(machine_at(shard), id)->nominal != weight_to_tell(id);
}

/* Returns whether the machine that has the task knows its weight, or will: if the task is on its way, that machine looks at the weight when it
 * comes, under the lock that was held here. Not static: the verifier checks it by itself. */
NOINLINE bool tell_weight_again(u32 id)
{
	struct event e = { .id = id, .now = clock_ns() };
	u32 shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);
	bool is_there, is_other;

	if (!lock)
		return true;
	bpf_spin_lock(lock);
	is_there = is_still_in(shard, id);
	is_other = is_there && has_other_weight(shard, id);
	if (is_other) {
		tell_weight(&e);
		publish(shard);
	}
	bpf_spin_unlock(lock);
	if (is_other)
		log_event(shard, EVENT_set_weight, &e, e.amount, 0, 0);
	return is_there || shard == shard_of(id);
}

/* The weight was changed under the lock of a shard that the task had left. The machine to which it came may have looked at it before. It may
 * move again meanwhile; each move takes a quantum or a wake-up, so not for long. */
static __always_inline void tell_weight_after_moves(u32 id, u32 left)
{
	if (shard_of(id) == left)
		return;
	if (!tell_weight_again(id) && !tell_weight_again(id))
		tell_weight_again(id);
}

/* An op passes on so many weights at most. */
#define MOST_PASSED_ON 8
/* A dispatch does not make the queue longer than that. */
#define MOST_IN_TURN 64

/* One of the tasks whose weights changed, which is in the queue no more; 0 if there is none. Not static. */
NOINLINE u32 next_reweighed(void)
{
	u32 id;

	bpf_spin_lock(&lock);
	id = take_reweighed();
	bpf_spin_unlock(&lock);
	return id;
}

/* It is in the queue once more. Not static. */
NOINLINE int put_back_reweighed(u32 id)
{
	bpf_spin_lock(&lock);
	note_reweighed(id);
	bpf_spin_unlock(&lock);
	return 0;
}

/* No lock is held. Tasks whose weights changed are told to their shards. If one has just moved, its new shard has most likely seen the weight, but
 * only a lock that both held makes that sure: it is told there. One that moves all the time is in the queue once more. */
static __always_inline void pass_on(void)
{
	for (u32 i = any_number(0); i < MOST_PASSED_ON && has_weigher() && reweighed.first != reweighed.end && can_loop;
	     i++) {
		u32 id = next_reweighed();

		if (id && !tell_weight_again(id) && !tell_weight_again(id))
			put_back_reweighed(id);
	}
}

/* Threads and groups whose weights are due (machine/weights.h) get some of them. Not static. */
NOINLINE int readjust(void)
{
	u64 now = clock_ns();

	bpf_spin_lock(&lock);
	if (machine_has_due(weigher()))
		machine_readjust(weigher(), machine_now(weigher(), now));
	bpf_spin_unlock(&lock);
	return 0;
}

/* The same of what others have left, and no more than that while many wait for their turn. Returns whether there was some: it takes time. */
static __always_inline bool catch_up(void)
{
	if (!has_news())
		return false;
	if (reweighed.end - reweighed.first < MOST_IN_TURN)
		readjust();
	pass_on();
	return true;
}

/* Returns whether there is a weigher. Then it has been told, and from it the shards hear. */
static __always_inline bool weighs_anew(u32 id, struct wish wish)
{
	struct event e = { .id = id, .now = clock_ns() };

	if (!has_weigher())
		return false;
	bpf_spin_lock(&lock);
	grant(host_task(id), wish);
	e.amount = asked_weight(host_task(id));
	accounts[id & POOL_MASK].nominal = e.amount;
	tell_weigher(EVENT_set_weight, &e);
	bpf_spin_unlock(&lock);
	pass_on();
	return true;
}

/* Where the task may run counts for its weight. Not static. */
NOINLINE int weigh_allowed(u32 id)
{
	u64 now = clock_ns();

	/* Without an event, which takes more stack than there is below an op. */
	bpf_spin_lock(&lock);
	machine_set_allowed(weigher(), id, &host_task(id)->move.cpus, machine_now(weigher(), now));
	bpf_spin_unlock(&lock);
	return 0;
}
#else
static __always_inline bool weighs_anew(u32 id, struct wish wish)
{
	return false;
}

static __always_inline void tell_weight_after_moves(u32 id, u32 left)
{
}

static __always_inline void pass_on(void)
{
}

static __always_inline bool catch_up(void)
{
	return false;
}
#endif

/* The task has this weight or rule from now on. */
static __always_inline void fulfil(u32 id, struct wish wish)
{
	struct event e = { .id = id, .now = clock_ns() };
	u32 shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);
	bool is_there;

	if (weighs_anew(id, wish) || !lock)
		return;
	bpf_spin_lock(lock);
	grant(host_task(id), wish);
	is_there = is_still_in(shard, id);
	if (is_there) {
		tell_weight(&e);
		publish(shard);
	}
	bpf_spin_unlock(lock);
	if (is_there)
		log_event(shard, EVENT_set_weight, &e, e.amount, 0, 0);
	else
		tell_weight_after_moves(id, shard);
}

/* Its weight is that of its nice value, or one of its own. */
static __always_inline void set_weight(u32 id, u64 weight, bool is_own)
{
	fulfil(id, (struct wish){ .weight = weight, .is_own = is_own });
}

/* The task has a rule with this weight from now on, or none (0). Not static: the verifier checks it by itself. */
NOINLINE int follow_rule(u32 id, u64 weight)
{
	if (host_task(id)->rule != weight)
		fulfil(id, (struct wish){ .rule = weight, .is_rule = true });
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
static __always_inline void log_allowed(u32 shard, struct event *e, u32 word, bool last)
{
	u32 kicked = e->cpu;

	e->cpu = word;
	log_event(shard, EVENT_set_allowed, e, e->allowed.word[word], kicked, last);
	e->cpu = kicked;
}

#ifdef DIVVY_SHARDS
/* A shard's machine knows its own CPUs. */
static __always_inline void set_allowed(u32 id, const struct cpumask *mask)
{
	struct allowed allowed = { .word = { allowed_word(mask, 0), allowed_word(mask, 64), allowed_word(mask, 128),
					     allowed_word(mask, 192) } };
	struct event e = { .id = id, .now = clock_ns() };
	u32 shard = shard_of(id);
	struct bpf_spin_lock *lock = lock_of(shard);

	if (!lock)
		return;
	take_reach_set(id, &allowed);
	bpf_spin_lock(lock);
	bind(id, &allowed);
	note_reach(shard, id); /* one that disables migration has not been dequeued */
	tell_allowed(shard, &e, allowed_part(id, shard));
	publish(shard);
	bpf_spin_unlock(lock);
	leave_reach_set(id);
	kick(shard, e.cpu);
	log_allowed(shard, &e, 0, true);
	if (!has_weigher())
		return;
	weigh_allowed(id);
	pass_on();
}
#else
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
	tell(0, EVENT_set_allowed, &e);
	bpf_spin_unlock(&lock);
	kick(0, e.cpu);
	if (config.config.ncpus > 64) {
		log_allowed(0, &e, 3, false);
		log_allowed(0, &e, 2, false);
		log_allowed(0, &e, 1, false);
	}
	log_allowed(0, &e, 0, true);
}

#endif

#endif
