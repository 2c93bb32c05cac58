/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "class.h"
#include "cpu.h"
#include "events.h"
#include "task.h"

/* From one CPU's request to the other's interrupt */
#define IPI_NS 1500

struct cpu cpus[MAX_MODEL_CPUS];

enum class class_on(const struct cpu *cpu) { return cpu->rt_on ? CLASS_RT : cpu->curr->class; }

static void resched_handler(struct cpu *cpu, void *unused)
{
	cpu->need_resched = true;
}

void resched(struct cpu *cpu)
{
	if (cpu->need_resched)
		return;
	if (cpu == this_cpu)
		cpu->need_resched = true;
	else
		at(model.now + IPI_NS, cpu->number, resched_handler, NULL, 0);
}

static void tick(struct cpu *cpu, void *unused)
{
	spin_lock(&cpu->rq);
	if (class_on(cpu) == CLASS_EXT) {
		update_curr(cpu);
		if (!cpu->curr->t.scx.slice)
			cpu->need_resched = true;
	}
	spin_unlock(&cpu->rq);
	at(model.now + model.tick_ns, cpu->number, tick, NULL, 0);
}

void start_cpus(u32 ncpus, u64 tick_ns, u64 offline)
{
	model.ncpus = ncpus;
	model.tick_ns = tick_ns;
	for (u32 i = 0; i < ncpus; i++) {
		struct cpu *cpu = &cpus[i];

		cpu->number = (s32)i;
		cpu->local.id = SCX_DSQ_LOCAL;
		cpu->is_online = !(offline >> i & 1) || i == ncpus - 1;
		cpu->idle.class = CLASS_IDLE;
		cpu->curr = cpu->current = &cpu->idle;
		if (!cpu->is_online)
			continue;
		model.online |= 1ull << i;
		/* The kernel's ticks are not at one time on all CPUs. */
		at(1 + i * tick_ns / ncpus, (s32)i, tick, NULL, 0);
	}
}

/* ---- schedule() ---- */

/* The stopper thread runs: it moves a task away that may no longer run here. The lock is held, and again on return. */
static void run_stopper(struct cpu *rq)
{
	struct model_task *p = rq->stop_for;

	rq->stop_for = NULL;
	if (rq->curr == p) {
		put_prev_task(rq, p, CLASS_RT);
		rq->curr = rq->current = &rq->idle;
		migrate_disable_switch(rq, p);
		p->on_cpu = false;
	}
	if (!p->exists || !p->on_rq || p->cpu != rq->number || p->t.migration_disabled ||
	    p->mask.bits[0] >> rq->number & 1)
		return;
	move_queued_task(rq, p);
	spin_lock(&rq->rq);
}

/* After the run queue has a new current task: the switch itself */
static void finish_task_switch(struct cpu *rq, struct model_task *prev, struct model_task *next)
{
	/* Read before another CPU may run it, and end it. */
	bool is_dead = prev->t.__state == TASK_DEAD && prev->class == CLASS_EXT;

	rq->curr = next;
	rq->current = next;
	rq->switches++;
	if (next->class == CLASS_IDLE)
		rq->idle_since = model.now;
	if (prev->class == CLASS_EXT && prev != next)
		migrate_disable_switch(rq, prev);
	prev->on_cpu = false;
	spin_unlock(&rq->rq);
	if (is_dead)
		free_task(prev);
}

static void schedule(struct cpu *rq)
{
	struct model_task *prev, *next;
	bool was_rt;

	spin_lock(&rq->rq);
	was_rt = rq->rt_on;
	rq->need_resched = false;
	prev = rq->curr;
	if (prev->class == CLASS_EXT && !rq->rt_on && prev->t.__state) {
		cancel_run_end(prev);
		dequeue_task(rq, prev, DEQ_SLEEP);
	} else if (prev->class == CLASS_EXT && !rq->rt_on) {
		migrate_disable(prev);
	}
	if (rq->stop_for) {
		struct model_task *p = rq->stop_for;

		run_stopper(rq);
		if (p == prev) {
			prev = rq->curr;
			rq->idle_since = model.now;
		}
	}
	if (!rq->rt_on || !rq->rt_waiting) {
		rq->rt_on = rq->rt_on && rq->rt_waiting;
		balance(rq);
	}
	if (rq->rt_waiting) {
		next = &rq->idle;
		if (prev != next || !rq->rt_on)
			put_prev_task(rq, prev, CLASS_RT);
		rq->rt_on = true;
	} else {
		next = pick_task(rq) ?: &rq->idle;
		if (next != prev || was_rt) {
			if (!was_rt)
				put_prev_task(rq, prev, next->class);
			set_next_task(rq, next);
		}
	}
	if (next != prev || was_rt) {
		finish_task_switch(rq, prev, next);
		return;
	}
	if (next->class == CLASS_EXT)
		plan_run_end(next);
	spin_unlock(&rq->rq);
}

/* ---- interrupts ---- */

static void kick(struct cpu *cpu, bool preempts, bool if_idle)
{
	spin_lock(&cpu->rq);
	if (if_idle && class_on(cpu) != CLASS_IDLE && !cpu->in_balance) {
		spin_unlock(&cpu->rq);
		return;
	}
	if (preempts && class_on(cpu) == CLASS_EXT)
		cpu->curr->t.scx.slice = 0;
	resched(cpu);
	spin_unlock(&cpu->rq);
}

static void carry_out_kicks(struct cpu *cpu)
{
	while (cpu->kicks | cpu->kicks_idle | cpu->kicks_preempt) {
		u32 target = (u32)__builtin_ctzll(cpu->kicks | cpu->kicks_idle | cpu->kicks_preempt);
		u64 bit = 1ull << target;
		bool preempts = cpu->kicks_preempt & bit, if_idle = !preempts && !(cpu->kicks & bit);

		cpu->kicks &= ~bit;
		cpu->kicks_idle &= ~bit;
		cpu->kicks_preempt &= ~bit;
		kick(&cpus[target], preempts, if_idle);
	}
}

void leave_interrupt(struct cpu *cpu)
{
	carry_out_kicks(cpu);
	if (!cpu->need_resched)
		return;
	schedule(cpu);
	carry_out_kicks(cpu);
	/* Time passes before it schedules again. */
	if (cpu->need_resched) {
		cpu->need_resched = false;
		at(model.now + 1000, cpu->number, resched_handler, NULL, 0);
	}
}
