/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <math.h>
#include <string.h>

#include "cgroups.h"
#include "class.h"
#include "coroutine.h"
#include "cpu.h"
#include "events.h"
#include "task.h"

struct model_task tasks[MAX_MODEL_TASKS];

static u64 exponential(u64 *random, u64 mean)
{
	double u = (double)(next_random(random) >> 11) * 0x1p-53;

	return (u64)(-log1p(-u) * (double)mean) + 1;
}

static u64 draw(struct model_task *p, u64 mean)
{
	return mean == ENDLESS || !p->does.varies ? mean : exponential(&p->random, mean);
}

/* ---- births ---- */

void init_task(struct model_task *p, bool fork)
{
	struct scx_init_task_args args = { .fork = fork, .cgroup = p->cgroup };
	s32 error;

	if (!model.inits_tasks || p->is_known)
		return;
	p->is_known = p->is_beginning = true;
	enter_op();
	error = host_ops.init_task(&p->t, &args);
	leave_op();
	if (error)
		scx_error("init_task: %d", error);
	OP(set_weight, &p->t, 100);
	p->is_beginning = false;
	/* SCX_TASK_RESET_RUNNABLE_AT: what it waited for under another scheduler does not count. */
	p->runnable_since = 0;
}

/* A new task is where the task is that makes it; those of a script are in the root. */
static struct cgroup *parents_cgroup(void)
{
	return this_cpu->current->cgroup ?: root_cgroup();
}

void create_task(u32 index, const struct birth *birth)
{
	struct model_task *p = &tasks[index];
	u64 all = model.ncpus == 64 ? ~0ull : (1ull << model.ncpus) - 1;

	if (p->exists || p->is_known)
		return;
	memset(p, 0, sizeof(*p));
	p->index = index;
	p->class = CLASS_EXT;
	p->does = birth->does;
	p->random = model.random ^ (index * 0x9e3779b97f4a7c15ull);
	p->left_ns = draw(p, birth->does.burst_ns);
	p->holding_cpu = p->sticky_cpu = -1;
	p->references = 1;
	p->cgroup = birth->is_orphan ? root_cgroup() : parents_cgroup();
	p->mask.bits[0] = birth->mask & model.online ? birth->mask & all : all;
	p->cpu = __builtin_ctzll(p->mask.bits[0] & model.online);
	p->cred.uid.val = birth->uid;
	p->t.cpus_ptr = &p->mask;
	p->t.nr_cpus_allowed = __builtin_popcountll(p->mask.bits[0]);
	p->t.real_cred = &p->cred;
	p->t.mm = &p->mm;
	p->t.static_prio = NICE_0_PRIO + birth->nice;
	p->t.flags = birth->is_kernel_thread ? PF_KTHREAD : 0;
	p->t.pid = (int)index + 1;
	p->t.tgid = (int)birth->leader + 1;
	p->t.group_leader = &tasks[birth->leader].t;
	p->t.scx.slice = SCX_SLICE_DFL;
	model.forks++;
	init_task(p, !birth->is_orphan);
	p->exists = true; /* Nobody finds it before. */
	model.forks--;
}

/* ---- bursts ---- */

void cancel_run_end(struct model_task *p)
{
	p->generation++;
}

static void burst_ends(struct cpu *cpu, void *argument);
static void migrate_enable(struct model_task *p);

void plan_run_end(struct model_task *p)
{
	p->generation++;
	if (p->left_ns != ENDLESS)
		at(model.now + p->left_ns, p->cpu, burst_ends, p, p->generation);
}

static void wake_handler(struct cpu *cpu, void *argument)
{
	wake_up(argument);
}

/* The task on this CPU makes another one, as long as there are numbers. */
static void fork_next(struct model_task *p)
{
	struct birth b = {
		.does = p->does,
		.leader = p->index + 1,
		.nice = p->t.static_prio - NICE_0_PRIO,
		.uid = p->cred.uid.val,
		.mask = p->mask.bits[0],
	};

	if (b.leader == MAX_MODEL_TASKS || tasks[b.leader].exists)
		return;
	if (b.leader >= model.ntasks)
		model.ntasks = b.leader + 1;
	create_task(b.leader, &b);
	wake_up(&tasks[b.leader]);
}

void block_task(struct model_task *p)
{
	p->t.__state = 1;
	cpus[p->cpu].need_resched = true;
}

void exit_task(struct model_task *p)
{
	p->t.flags |= PF_EXITING;
	p->t.__state = TASK_DEAD;
	cpus[p->cpu].need_resched = true;
}

void yield_task(struct model_task *p)
{
	enter_op();
	host_ops.yield(&p->t, NULL);
	leave_op();
	cpus[p->cpu].need_resched = true;
}

/* The task on this CPU did what it wanted: it sleeps, yields, or ends. */
static void burst_ends(struct cpu *cpu, void *argument)
{
	struct model_task *p = argument;

	if (cpu->curr != p || cpu->rt_on || p->generation != generation_here())
		return;
	if (p->t.migration_disabled)
		migrate_enable(p);
	if (p->does.then == THEN_FORK) {
		fork_next(p);
		p->does.then = THEN_EXIT;
	}
	spin_lock(&cpu->rq);
	update_curr(cpu);
	if (p->left_ns && p->does.then != THEN_EXIT) { /* a clock's rest */
		plan_run_end(p);
		spin_unlock(&cpu->rq);
		return;
	}
	p->left_ns = draw(p, p->does.burst_ns);
	switch (p->does.then) {
	case THEN_YIELD:
		yield_task(p);
		plan_run_end(p);
		break;
	case THEN_FORK:
	case THEN_EXIT: exit_task(p); break;
	case THEN_SLEEP:
		block_task(p);
		at(model.now + draw(p, p->does.sleep_ns), -1, wake_handler, p, 0);
		break;
	}
	spin_unlock(&cpu->rq);
}

void end_task(struct model_task *p)
{
	p->does.then = THEN_EXIT;
	p->left_ns = p->left_ns == ENDLESS || p->left_ns > 1000 ? 1000 : p->left_ns;
	if (p->exists && !p->dead && p->on_cpu && cpus[p->cpu].curr == p)
		at(model.now, p->cpu, burst_ends, p, p->generation);
	else
		wake_up(p);
}

/* ops.disable and ops.exit_task */
static void forget_task(struct model_task *p)
{
	struct scx_exit_task_args args = { .cancelled = false };

	if (!p->is_known)
		return;
	p->is_known = false;
	model.ends++;
	OP(disable, &p->t);
	OP(exit_task, &p->t, &args);
	model.ends--;
}

static void free_dead(struct model_task *p)
{
	if (p->is_beginning)
		return;
	forget_task(p);
	p->exists = false;
	p->references--;
}

void free_task(struct model_task *p)
{
	p->dead = true;
	if (!p->does.lingers)
		free_dead(p);
}

void reap_task(struct model_task *p)
{
	bool lingers = p->does.lingers;

	p->does.lingers = false;
	if (lingers && p->exists && p->dead)
		free_dead(p);
}

/* ---- wake-ups ---- */

static s32 select_task_rq(struct model_task *p)
{
	s32 cpu = p->cpu;

	if (p->t.nr_cpus_allowed > 1 && !p->t.migration_disabled && model.is_loaded) {
		enter_op();
		cpu = host_ops.select_cpu(&p->t, p->cpu, SCX_ENQ_WAKEUP);
		leave_op();
	}
	if (!(p->mask.bits[0] >> cpu & 1) || !cpus[cpu].is_online)
		for (cpu = 0; cpu < (s32)model.ncpus - 1; cpu++)
			if (p->mask.bits[0] >> cpu & 1 && cpus[cpu].is_online)
				break;
	return cpu;
}

void wake_up(struct model_task *p)
{
	struct cpu *rq;

	spin_lock(&p->pi_lock);
	if (!p->exists || p->dead || p->on_rq || p->t.__state == TASK_DEAD) {
		if (p->exists && p->on_rq && p->t.__state == 1)
			p->t.__state = 0; /* it had not gone to sleep yet */
		spin_unlock(&p->pi_lock);
		return;
	}
	/* The kernel spins here until the task is off its CPU. */
	while (p->on_cpu)
		suspend();
	p->t.__state = 0;
	p->cpu = select_task_rq(p);
	rq = &cpus[p->cpu];
	spin_lock(&rq->rq);
	enqueue_task(rq, p, SCX_ENQ_WAKEUP);
	if (class_on(rq) == CLASS_IDLE)
		resched(rq);
	spin_unlock(&rq->rq);
	spin_unlock(&p->pi_lock);
}

/* ---- attributes ---- */

/* Takes the task out of its run queue, changes it, and puts it back, as the kernel does. */
static void change(struct model_task *p, void (*apply)(struct model_task *, u64), u64 value)
{
	bool queued, running;
	struct cpu *rq;

	spin_lock(&p->pi_lock);
	for (;;) { /* task_rq_lock */
		rq = &cpus[p->cpu];
		spin_lock(&rq->rq);
		if (rq == &cpus[p->cpu] && !p->is_migrating)
			break;
		spin_unlock(&rq->rq);
		if (p->is_migrating)
			suspend();
	}
	if (p->exists && !p->dead) {
		queued = p->on_rq;
		running = rq->curr == p && !rq->rt_on;
		if (queued)
			dequeue_task(rq, p, DEQ_SAVE);
		if (running)
			put_prev_task(rq, p, CLASS_EXT);
		apply(p, value);
		if (queued)
			enqueue_task(rq, p, DEQ_SAVE);
		if (running)
			set_next_task(rq, p);
	}
	spin_unlock(&rq->rq);
	spin_unlock(&p->pi_lock);
}

static void apply_nice(struct model_task *p, u64 nice)
{
	p->t.static_prio = NICE_0_PRIO + (int)nice;
	if (model.is_loaded)
		OP(set_weight, &p->t, 100);
}

void set_nice(struct model_task *p, s32 nice)
{
	change(p, apply_nice, (u64)(s64)nice);
}

static void apply_mask(struct model_task *p, u64 mask)
{
	p->mask.bits[0] = mask;
	p->t.nr_cpus_allowed = __builtin_popcountll(mask);
	if (model.is_loaded)
		OP(set_cpumask, &p->t, p->t.cpus_ptr);
}

static void stop_handler(struct cpu *cpu, void *argument)
{
	cpu->stop_for = argument;
	cpu->need_resched = true;
}

/* If it must not migrate, it leaves when it may. */
static void leave_forbidden_cpu(struct model_task *p)
{
	if (p->on_rq && !p->t.migration_disabled && !(p->mask.bits[0] >> p->cpu & 1))
		at(model.now + 500, p->cpu, stop_handler, p, 0);
}

void set_mask(struct model_task *p, u64 mask)
{
	u64 all = model.ncpus == 64 ? ~0ull : (1ull << model.ncpus) - 1;

	mask &= all;
	if (!p->exists || !(mask & model.online))
		return;
	change(p, apply_mask, mask);
	leave_forbidden_cpu(p);
}

static void apply_cgroup(struct model_task *p, u64 cgroup)
{
	p->cgroup = (struct cgroup *)(uintptr_t)cgroup;
}

static void tell_cgroup(struct model_task *p, u64 cgroup)
{
	struct cgroup *from = p->cgroup;

	apply_cgroup(p, cgroup);
	OP(cgroup_move, &p->t, from, p->cgroup);
}

void set_cgroup(struct model_task *p, struct cgroup *cgroup, bool tells)
{
	if (p->exists && !p->dead && p->cgroup != cgroup)
		change(p, tells ? tell_cgroup : apply_cgroup, (u64)(uintptr_t)cgroup);
}

/* ---- where it must not migrate ---- */

void migrate_disable(struct model_task *p)
{
	if (p->does.stays && !p->t.migration_disabled && next_random(&p->random) % 100 < p->does.stays)
		p->t.migration_disabled = 1;
}

/* It was switched out: its effective mask is this CPU. The CPU has its next task already. */
void migrate_disable_switch(struct cpu *rq, struct model_task *p)
{
	if (!p->t.migration_disabled || p->t.cpus_ptr != &p->mask || !p->on_rq)
		return;
	dequeue_task(rq, p, DEQ_SAVE);
	p->here.bits[0] = 1ull << rq->number;
	p->t.cpus_ptr = &p->here;
	if (model.is_loaded)
		OP(set_cpumask, &p->t, p->t.cpus_ptr);
	enqueue_task(rq, p, DEQ_SAVE);
}

static void apply_migrate_enable(struct model_task *p, u64 unused)
{
	p->t.cpus_ptr = &p->mask;
	if (model.is_loaded)
		OP(set_cpumask, &p->t, p->t.cpus_ptr);
}

static void migrate_enable(struct model_task *p)
{
	if (p->t.cpus_ptr != &p->mask)
		change(p, apply_migrate_enable, 0);
	p->t.migration_disabled--;
	leave_forbidden_cpu(p);
}

static void migrate_enable_handler(struct cpu *cpu, void *argument)
{
	struct model_task *p = argument;

	if (cpu->curr == p && !cpu->rt_on && p->t.migration_disabled && p->generation == generation_here())
		migrate_enable(p);
}

void plan_migrate_enable(struct model_task *p)
{
	if (p->t.migration_disabled)
		at(model.now + 10000, p->cpu, migrate_enable_handler, p, p->generation);
}

/* ---- the scheduler begins and ends ---- */

static void apply_nothing(struct model_task *p, u64 unused)
{
}

void enable_scheduler(void)
{
	begin_cgroups();
	model.inits_tasks = true;
	for (u32 i = 0; i < model.ntasks; i++)
		if (tasks[i].exists && !tasks[i].dead) {
			init_task(&tasks[i], false);
			if (tasks[i].exists && tasks[i].dead && !tasks[i].does.lingers)
				free_dead(&tasks[i]);
		}
	began_cgroups();
	model.is_loaded = true;
	for (u32 i = 0; i < model.ntasks; i++)
		if (tasks[i].exists)
			change(&tasks[i], apply_nothing, 0);
	/* The kernel's scx_ops_bypass: idle CPUs say that they are. */
	for (u32 i = 0; i < model.ncpus; i++) {
		spin_lock(&cpus[i].rq);
		if (cpus[i].is_online)
			resched(&cpus[i]);
		spin_unlock(&cpus[i].rq);
	}
}

static void apply_forget(struct model_task *p, u64 unused)
{
	forget_task(p);
}

/* First tasks bypass the scheduler, and then each is taken from it. */
void disable_scheduler(void)
{
	model.is_bypassed = true;
	model.inits_tasks = false;
	for (u32 i = 0; i < model.ntasks; i++)
		if (tasks[i].exists)
			change(&tasks[i], apply_nothing, 0);
	model.is_loaded = false;
	for (u32 i = 0; i < model.ntasks; i++)
		if (tasks[i].exists && tasks[i].dead)
			forget_task(&tasks[i]);
		else if (tasks[i].exists)
			change(&tasks[i], apply_forget, 0);
	end_cgroups();
}
