/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "cgroups.h"
#include "check.h"
#include "cpu.h"
#include "host_model.h"
#include "queues.h"
#include "weights.h"

/* All tasks are looked at at every so many calls. */
#define SELDOM 32
/* And who holds which id, which takes longer */
#define RARELY (SELDOM * 32)
/* Time stands still for this long, and then there are more events than fit between two looks. */
#define LONGEST_STILL_NS 5000000
#define FEW_EVENTS 400
/* A CPU that is idle although a task waits that may run there: interrupts under way take less than this. */
#define LONGEST_IDLE_NS 5000000
/* CPUs that stand still one after the other before one has the task */
#define MOST_STILL 4

/* A task that is runnable is somewhere from where it will run. */
static void check_not_lost(const struct model_task *p)
{
	if (p->on_cpu || p->dsq)
		return;
	if (p->ops_state != OPS_QUEUED)
		scx_error("task %u is lost: runnable, in no DSQ, and not the host's (state %d)", p->index,
			  p->ops_state);
	else if (!host_has_custody(&p->t))
		scx_error("task %u is lost: the host has it, and the machine will not pick it", p->index);
}

/* The kernel's watchdog, or a stricter one. */
static void check_watchdog(const struct model_task *p)
{
	u64 longest = p->t.flags & PF_KTHREAD ? model.kernel_watchdog_ns : model.watchdog_ns;

	if (p->runnable_since && model.now > p->runnable_since + longest)
		scx_error("watchdog: task %u did not run for %llu ms", p->index,
			  (unsigned long long)((model.now - p->runnable_since) / 1000000));
}

static u64 longest_idle_ns(void)
{
	return LONGEST_IDLE_NS + MOST_STILL * model.longest_still_ns;
}

static bool is_idle_for_long(u32 cpu)
{
	return cpus[cpu].is_online && class_on(&cpus[cpu]) == CLASS_IDLE &&
	       model.now > cpus[cpu].idle_since + longest_idle_ns();
}

/* Since when a task waits for a CPU. One that was held waits since it was first seen to be let go: then the host enqueued it by itself. Its
 * time for that is that of a clock that may be ahead, so it only tells that it did. */
static u64 waits_since(struct model_task *p)
{
	u64 enqueued = host_enqueued_at(&p->t);

	if (enqueued != p->enqueued_seen || host_holds(&p->t))
		p->let_go = model.now;
	p->enqueued_seen = enqueued;
	return p->let_go > p->queued_since ? p->let_go : p->queued_since;
}

/* The host has the task for a while, and a CPU where it may run is idle for a while; or the task is in a DSQ of the host, which
 * may belong to its CPU, and that CPU is. */
static void check_work_conserving(struct model_task *p)
{
	bool in_host_dsq = p->dsq && p->dsq->id < DSQ_INVALID;

	if (model.now < waits_since(p) + longest_idle_ns() || p->on_cpu)
		return;
	for (u32 i = 0; i < model.ncpus; i++)
		if (p->t.cpus_ptr->bits[0] >> i & 1 && is_idle_for_long(i) &&
		    (p->ops_state == OPS_QUEUED || (in_host_dsq && p->cpu == (s32)i)))
			scx_error("CPU %u is idle, and task %u waits and may run there", i, p->index);
}

/* A machine is told events, and its time stands still. With several shards each has its own. */
static void check_time(void)
{
	static struct {
		u64 then, changed, events;
	} of[MAX_MODEL_CPUS];

	for (u32 shard = 0; shard < host_shards(); shard++) {
		if (host_now(shard) != of[shard].then) {
			of[shard].then = host_now(shard);
			of[shard].changed = model.now;
		}
		if (model.now <= of[shard].changed + LONGEST_STILL_NS)
			of[shard].events = host_events_of(shard);
		else if (host_events_of(shard) > of[shard].events + FEW_EVENTS)
			scx_error("time stands still for %llu ms",
				  (unsigned long long)((model.now - of[shard].changed) / 1000000));
	}
}

/* A shard is to know a weight after so long. A dispatch passes on 8, the storm has 48 tasks, and before each dispatch a kernel thread may run for 20 ms and a
 * real-time task for 8. */
#define LONGEST_STALE_NS (7 * 28 * 1000000ull)

/* With several shards */
static const char *check_shards(bool is_rare)
{
	static u64 told;
	const char *wrong = host_check_weights();

	if (wrong)
		return wrong;
	if (host_told_news() || told < model.loaded_ns)
		told = model.now;
	if (model.now > told + LONGEST_STALE_NS)
		return "weights are not passed on to shards";
	return is_rare && host_most_shards() > 1 && !host_has_news() ? check_weights() : NULL;
}

void check_move(void)
{
	const char *wrong = model.race_in ? NULL : host_check_move();

	if (wrong)
		scx_error("CPU %d moves a task: %s", this_cpu->number, wrong);
}

void check_choice(s32 cpu)
{
	const char *wrong = host_check_order(cpu);

	if (wrong)
		scx_error("CPU %d: %s", cpu, wrong);
}

void check_quiet(void)
{
	static u32 calls;
	const char *wrong;

	if (++calls % SELDOM || !model.is_loaded)
		return;
	wrong = calls % RARELY ? NULL : host_check_ids() ?: host_check_groups();
	wrong = wrong ?: check_shards(calls % RARELY == 0 || calls % (4 * SELDOM) == 0);
	if (wrong)
		scx_error("%s", wrong);
	if (host_faults())
		scx_error("the policy broke its contract %llu times", (unsigned long long)host_faults());
	check_time();
	if (host_missing())
		scx_error("%llu picked tasks could not be found", (unsigned long long)host_missing());
	for (u32 i = 0; i < model.ntasks; i++) {
		struct model_task *p = &tasks[i];

		if (!p->exists || !p->on_rq)
			continue;
		check_not_lost(p);
		if (p->on_cpu && cpus[p->cpu].curr == p && !cpus[p->cpu].rt_on && !host_knows_it_runs(&p->t))
			scx_error("task %u runs, and its machine does not know", p->index);
		check_watchdog(p);
		check_work_conserving(p);
		if (host_holds(&p->t) && !is_limited(p->cgroup))
			scx_error("task %u is held, and there is no limit", p->index);
	}
	check_limits();
}
