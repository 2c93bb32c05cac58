/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks without an id, which the machine does not know. They wait in the fallback DSQ, and share what one task of nice 0 gets;
 * or more if that is too little for the starvation limit (starvation.h). They are tasks of users who have thousands of ids.
 *
 * The functions call the kernel, so the lock is not held; what they read of the machine is a hint.
 */
#ifndef DIVVY_HOST_FALLBACK_H
#define DIVVY_HOST_FALLBACK_H

#include "host/rescue_rate.h"
#include "host/taken_cpus.h"

/* By CPU: when it looked there last, and whether it must look now, for the starvation limit */
static u64 fallback_looked[MAX_CPUS];
static bool fallback_due[MAX_CPUS];

static __always_inline void look_at_fallback(void)
{
	s32 queued = stats.fallbacks ? scx_bpf_dsq_nr_queued(FALLBACK) : 0;

	fallback_waiting = queued > 0 ? queued : 0;
}

/* The kernel takes a task out of its queue to change an attribute, and enqueues it again: last, though it came first. So nobody would run
 * whose affinity is changed over and over. One that has waited for half the limit goes first; the others are served before that. The
 * kernel counts what its watchdog counts, also over changes. */
static __always_inline bool waits_for_long(const struct task_struct *p)
{
	u64 waited = (bpf_jiffies64() - p->scx.runnable_at) * config.tick_ns;

	return config.starvation_limit_ms && waited > starvation_limit_ns() / 2;
}

static __always_inline void enqueue_fallback(struct task_struct *p, u64 enq_flags)
{
	__sync_fetch_and_add(&stats.fallbacks, 1); /* first: from then on CPUs look there */
	look_at_fallback();
	dsq_insert(p, FALLBACK, rescue_ns() / 2, enq_flags | (waits_for_long(p) ? ENQ_HEAD : 0));
	scx_bpf_kick_cpu(scx_bpf_task_cpu(p), enq_flags & SCX_ENQ_LAST ? 0 : SCX_KICK_IDLE);
}

/*
 * The time that the fallback DSQ is owed on each CPU, in ns times weight: its weight for each ns that others run there, less their weight for
 * each ns that its own tasks run. It is served when that is positive. Turns are of different lengths, so they are not counted.
 */
static s64 fallback_owed[MAX_CPUS];
static u64 fallback_counted[MAX_CPUS]; /* until when */
static bool fallback_runs[MAX_CPUS];   /* since then */

/* A CPU that did not dispatch for longer was idle, or ran one task alone. */
#define FALLBACK_LONGEST_NS (100 * MS)

/* At most 8,192 tasks of nice 0, so that a product with a time stays below 2^60. With more, the starvation limit gives the
 * fallback DSQ more than its part anyway. */
static __always_inline s64 weight_of_others(void)
{
	u64 total = OVER_SHARDS(entitled.total);

	return total < WEIGHT_NICE_0 << 13 ? total : WEIGHT_NICE_0 << 13;
}

/* It keeps its debts, but nothing is owed to nobody. */
static __always_inline void count_fallback(u32 cpu)
{
	u64 now = clock_ns(), ran = now - fallback_counted[cpu & CPU_MASK];
	s64 *owed = &fallback_owed[cpu & CPU_MASK], most_debt = FALLBACK_LONGEST_NS * weight_of_others();
	s64 most = FALLBACK_LONGEST_NS * WEIGHT_NICE_0;

	ran = ran < FALLBACK_LONGEST_NS ? ran : FALLBACK_LONGEST_NS;
	*owed += fallback_runs[cpu & CPU_MASK] ? -(s64)ran * weight_of_others() : (s64)(ran * WEIGHT_NICE_0);
	if (*owed > 0 && !fallback_waiting)
		*owed = 0;
	if (*owed > most)
		*owed = most;
	if (*owed < -most_debt)
		*owed = -most_debt;
	fallback_counted[cpu & CPU_MASK] = now;
	fallback_runs[cpu & CPU_MASK] = false;
}

static __always_inline bool consume_fallback(u32 cpu)
{
	if (!stats.fallbacks)
		return false;
	fallback_due[cpu & CPU_MASK] = false;
	fallback_looked[cpu & CPU_MASK] = clock_ns();
	fallback_runs[cpu & CPU_MASK] = dsq_consume(FALLBACK);
	return fallback_runs[cpu & CPU_MASK];
}

/* Serves a task of the fallback DSQ on this CPU if one is due. */
static __always_inline bool dispatch_fallback(u32 cpu)
{
	look_at_fallback();
	count_fallback(cpu);
	if (!fallback_waiting || (fallback_owed[cpu & CPU_MASK] <= 0 && !fallback_due[cpu & CPU_MASK]))
		return false;
	if (consume_fallback(cpu))
		return true;
	/* Those that wait may not run here. Nothing is owed to them, and the queue is not searched in vain at each dispatch. */
	if (fallback_owed[cpu & CPU_MASK] > 0)
		fallback_owed[cpu & CPU_MASK] = 0;
	return false;
}

/* How often each CPU must serve it */
static __always_inline u64 fallback_every_ns(void)
{
	u32 n = fallback_waiting;

	return starvation_limit_ns() / 2 / (n ? n : 1);
}

/* A CPU takes the first task that may run there. So if each CPU looks often enough, everybody is served. If it should look again
 * before the next tick, it is interrupted in any case. */
static NOINLINE void rescue_fallback(u64 now)
{
	u64 every = fallback_every_ns();

	for (u32 cpu = unknown_zero; cpu < config.config.ncpus && can_loop; cpu++) {
		bool due = (s64)(now - fallback_looked[cpu & CPU_MASK]) > (s64)every;

		fallback_due[cpu & CPU_MASK] = due;
		if (due || every < 2 * config.tick_ns)
			scx_bpf_kick_cpu(config.kernel_cpu[cpu & CPU_MASK], SCX_KICK_PREEMPT);
	}
}

#endif
