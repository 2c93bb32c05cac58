/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "cgroups.h"
#include "check.h"
#include "class.h"
#include "coroutine.h"
#include "cpu.h"
#include "queues.h"
#include "task.h"

#define TASK_QUEUED SCX_TASK_QUEUED
#define DISPATCH_LOOPS 32

void enter_op(void)
{
	this_cpu->current->t.migration_disabled++;
	this_cpu->lookups = 0;
}

void leave_op(void)
{
	this_cpu->current->t.migration_disabled--;
}

static bool is_queued(const struct model_task *p)
{
	return p->t.scx.flags & TASK_QUEUED;
}

void update_curr(struct cpu *rq)
{
	struct model_task *p = rq->curr;
	u64 ran = model.now - p->on_cpu_since;

	if (p->class != CLASS_EXT || rq->rt_on)
		return;
	p->on_cpu_since = model.now;
	p->t.se.sum_exec_runtime += ran;
	p->service_ns += ran;
	count_service(p, ran);
	if (p->left_ns != ENDLESS)
		p->left_ns -= ran < p->left_ns ? ran : p->left_ns;
	if (p->t.scx.slice != ~0ull)
		p->t.scx.slice -= ran < p->t.scx.slice ? ran : p->t.scx.slice;
}

struct calls calls;

static void call_dequeue(struct model_task *p, u64 deq_flags)
{
	calls.dequeue++;
	calls.taken_back += !MODEL_NEWER || deq_flags & (DEQ_CORE_SCHED_EXEC | DEQ_SCHED_CHANGE);
	OP(dequeue, &p->t, deq_flags);
}

/* Newer kernels: the scheduler has it no more. They say so once, also when it was dispatched, with no flag then; and not while they
 * move it to the CPU that dispatched it. */
static void leave_custody(struct model_task *p, u64 deq_flags)
{
	if (!MODEL_NEWER || !p->in_custody || p->sticky_cpu >= 0)
		return;
	p->in_custody = false;
	if (model.is_loaded)
		call_dequeue(p, deq_flags);
}

/* The watchdog counts from here. */
static void begin_wait(struct model_task *p)
{
	p->runnable_since = model.now;
	p->t.scx.runnable_at = bpf_jiffies64();
}

/* ---- into a DSQ ---- */

static void dispatch_enqueue(struct dsq *dsq, struct cpu *rq, struct model_task *p, u64 enq_flags)
{
	if (dsq->id >= DSQ_INVALID)
		leave_custody(p, 0);
	bool preempts = enq_flags & SCX_ENQ_PREEMPT;

	dsq_add(dsq, p, preempts || enq_flags & ENQ_HEAD);
	p->ops_state = OPS_NONE;
	if (dsq != &rq->local)
		return;
	if (preempts && p != rq->curr && class_on(rq) == CLASS_EXT)
		rq->curr->t.scx.slice = 0;
	if (preempts || class_on(rq) == CLASS_IDLE)
		resched(rq);
}

static void direct_dispatch(struct cpu *rq, struct model_task *p, u64 enq_flags)
{
	struct dsq *dsq = p->ddsp_dsq == SCX_DSQ_LOCAL ? &rq->local : find_dsq(p->ddsp_dsq);

	if (!dsq) {
		scx_error("no DSQ %llu", (unsigned long long)p->ddsp_dsq);
		dsq = &global_dsq;
	}
	enq_flags |= p->ddsp_flags;
	p->ddsp_dsq = p->ddsp_flags = 0;
	dispatch_enqueue(dsq, rq, p, enq_flags);
}

/* `sticky_cpu`: where it goes past the scheduler; -1 if nowhere */
static void do_enqueue_task(struct cpu *rq, struct model_task *p, u64 enq_flags, s32 sticky_cpu)
{
	if (sticky_cpu == rq->number || !rq->is_online) {
		if (sticky_cpu != rq->number)
			p->t.scx.slice = SCX_SLICE_DFL;
		dispatch_enqueue(&rq->local, rq, p, enq_flags);
		return;
	}
	if (!model.is_loaded || model.is_bypassed) {
		p->t.scx.slice = SCX_SLICE_DFL;
		p->ddsp_dsq = p->ddsp_flags = 0;
		dispatch_enqueue(&global_dsq, rq, p, enq_flags);
		return;
	}
	if (p->ddsp_dsq) {
		direct_dispatch(rq, p, enq_flags);
		return;
	}
	p->ops_state = OPS_QUEUEING;
	p->qseq = ++model.qseq;
	this_cpu->enqueueing = p;
	calls.enqueue++;
	OP(enqueue, &p->t, enq_flags);
	this_cpu->enqueueing = NULL;
	if (p->ddsp_dsq)
		direct_dispatch(rq, p, enq_flags);
	else
		p->ops_state = OPS_QUEUED;
	p->queued_since = model.now;
	p->in_custody = p->ops_state == OPS_QUEUED || (p->dsq && p->dsq->id < DSQ_INVALID);
}

void enqueue_task(struct cpu *rq, struct model_task *p, u64 enq_flags)
{
	s32 sticky_cpu = p->sticky_cpu;

	if (is_queued(p)) {
		scx_error("task %u is enqueued twice", p->index);
		return;
	}
	/* 7.1 and 7.2 do so only when it is in its queue. So they do not say that it is dispatched, but when it is picked that it was taken
	 * back. */
	if (MODEL_NEWER != 71)
		p->sticky_cpu = -1;
	/* It runs, and goes on as soon as it is changed. */
	if (enq_flags & DEQ_SAVE && rq->curr == p && !rq->rt_on)
		sticky_cpu = rq->number;
	p->t.scx.flags |= TASK_QUEUED;
	if (!p->runnable_since)
		begin_wait(p);
	p->on_rq = true;
	p->is_migrating = false;
	do_enqueue_task(rq, p, enq_flags, sticky_cpu);
	p->sticky_cpu = -1;
}

/* ---- out of a DSQ, or of the host's custody ---- */

static void ops_dequeue(struct model_task *p, u64 deq_flags)
{
	if (p->ops_state == OPS_QUEUED) {
		if (model.is_loaded && !MODEL_NEWER)
			call_dequeue(p, deq_flags);
		if (p->ops_state == OPS_QUEUED)
			p->ops_state = OPS_NONE;
	}
	while (p->ops_state == OPS_DISPATCHING)
		suspend();
	leave_custody(p, deq_flags | (deq_flags & (DEQ_SLEEP | DEQ_CORE_SCHED_EXEC) ? 0 : DEQ_SCHED_CHANGE));
}

static void dispatch_dequeue(struct model_task *p)
{
	dsq_remove(p);
	/* Another CPU that is about to move it sees that it was taken away. */
	p->holding_cpu = -1;
}

void dequeue_task(struct cpu *rq, struct model_task *p, u64 deq_flags)
{
	bool migrates = deq_flags & DEQ_MIGRATING;

	deq_flags &= ~DEQ_MIGRATING;
	if (!is_queued(p))
		return;
	ops_dequeue(p, deq_flags);
	/* Only for a scheduler that has this op. For others sum_exec is up to date later, in put_prev_task. */
	if (model.is_loaded && rq->curr == p && !rq->rt_on) {
		update_curr(rq);
		OP(stopping, &p->t, false);
	}
	if (model.is_loaded && !migrates)
		OP(quiescent, &p->t, deq_flags);
	p->t.scx.flags &= ~TASK_QUEUED;
	p->is_migrating = migrates;
	/* While an attribute changes it stays runnable, so that a wake-up does nothing, and the watchdog does not wait anew. */
	if (deq_flags & DEQ_SLEEP) {
		p->on_rq = false;
		p->runnable_since = 0;
	}
	dispatch_dequeue(p);
}

/* ---- from one run queue to another ---- */

/* The kernel's task_can_run_on_remote_rq. `enforce`: it is an error if not. */
static bool can_run_on_remote_rq(struct model_task *p, struct cpu *rq, bool enforce)
{
	if (p->t.migration_disabled || !(p->mask.bits[0] >> rq->number & 1)) {
		if (enforce)
			scx_error("SCX_DSQ_LOCAL: task %u cannot be moved to CPU %d", p->index, rq->number);
		return false;
	}
	return rq->is_online;
}

/* Both locks are held in turn: `from` on entry, `to` on return. */
static void move_remote_task(struct model_task *p, u64 enq_flags, struct cpu *from, struct cpu *to)
{
	p->sticky_cpu = to->number;
	dequeue_task(from, p, DEQ_MIGRATING);
	p->cpu = to->number;
	spin_unlock(&from->rq);
	spin_lock(&to->rq);
	enqueue_task(to, p, enq_flags);
}

/* Drops the lock of `rq` while it moves a task from elsewhere. */
bool consume(struct cpu *rq, struct dsq *dsq)
{
	struct model_task *p;

	flush_dispatched(rq);
retry:
	for (p = dsq->first; p; p = p->next) {
		struct cpu *from = &cpus[p->cpu];

		if (from == rq) {
			dsq_remove(p);
			dsq_add(&rq->local, p, false);
			leave_custody(p, 0);
			return true;
		}
		if (!can_run_on_remote_rq(p, rq, false)) {
			if (p->dsq != dsq)
				goto retry;
			continue;
		}
		if (p->dsq != dsq)
			goto retry;
		dsq_remove(p);
		p->holding_cpu = rq->number;
		spin_unlock(&rq->rq);
		spin_lock(&from->rq);
		if (p->holding_cpu == rq->number) {
			p->holding_cpu = -1;
			move_remote_task(p, 0, from, rq);
			return true;
		}
		spin_unlock(&from->rq);
		spin_lock(&rq->rq);
		goto retry;
	}
	return false;
}

/* The kernel's move_queued_task: the task may no longer run here. Its new CPU's lock is held on return, not this one's. */
void move_queued_task(struct cpu *rq, struct model_task *p)
{
	struct cpu *to = rq;

	for (u32 i = 0; i < model.ncpus; i++)
		if (p->mask.bits[0] >> i & 1 && cpus[i].is_online)
			to = &cpus[i];
	dequeue_task(rq, p, DEQ_MIGRATING);
	p->cpu = to->number;
	spin_unlock(&rq->rq);
	spin_lock(&to->rq);
	enqueue_task(to, p, 0);
	if (class_on(to) == CLASS_IDLE)
		resched(to);
	spin_unlock(&to->rq);
}

static void finish_dispatch(struct cpu *rq, struct model_task *p, u64 qseq, u64 id, u64 enq_flags)
{
	struct cpu *from;
	struct dsq *dsq;

	while (p->ops_state == OPS_QUEUEING && p->qseq == qseq)
		suspend();
	if (p->ops_state != OPS_QUEUED || p->qseq != qseq)
		return; /* the kernel took it back */
	p->ops_state = OPS_DISPATCHING;
	may_switch();
	dsq = id == SCX_DSQ_LOCAL ? &rq->local : find_dsq(id);
	if (!dsq) {
		scx_error("no DSQ %llu", (unsigned long long)id);
		dsq = &global_dsq;
	}
	from = &cpus[p->cpu];
	if (dsq != &rq->local || from == rq) {
		dispatch_enqueue(dsq, rq, p, enq_flags);
		return;
	}
	if (!can_run_on_remote_rq(p, rq, true)) {
		dispatch_enqueue(&global_dsq, rq, p, enq_flags);
		return;
	}
	p->holding_cpu = rq->number;
	p->ops_state = OPS_NONE;
	spin_unlock(&rq->rq);
	spin_lock(&from->rq);
	if (p->holding_cpu != rq->number) {
		spin_unlock(&from->rq);
		spin_lock(&rq->rq);
		return;
	}
	p->holding_cpu = -1;
	move_remote_task(p, enq_flags, from, rq);
}

void flush_dispatched(struct cpu *rq)
{
	for (u32 i = 0; i < rq->ndispatched; i++)
		finish_dispatch(rq, rq->dispatched[i].p, rq->dispatched[i].qseq, rq->dispatched[i].dsq,
				rq->dispatched[i].flags);
	rq->moved += rq->ndispatched;
	rq->ndispatched = 0;
}

u32 reenqueue_local(struct cpu *rq)
{
	u32 queued = rq->local.queued, n = 0;

	while (n < queued && rq->local.first) {
		struct model_task *p = rq->local.first;

		n++;
		dispatch_dequeue(p);
		do_enqueue_task(rq, p, SCX_ENQ_REENQ, -1);
	}
	return n;
}

/* ---- a CPU picks ---- */

static bool may_keep(const struct model_task *prev)
{
	return prev->class == CLASS_EXT && is_queued(prev) && prev->t.scx.slice;
}

void balance(struct cpu *rq)
{
	struct model_task *prev = rq->curr;
	bool prev_on_scx = prev->class == CLASS_EXT && !rq->rt_on;

	rq->in_balance = true;
	rq->keep_prev = false;
	rq->cpu_released = false;
	if (prev_on_scx)
		update_curr(rq);
	if (prev_on_scx && may_keep(prev)) {
		rq->keep_prev = true;
		goto out;
	}
	if (rq->local.queued || consume(rq, &global_dsq) || !model.is_loaded || model.is_bypassed || !rq->is_online)
		goto out;
	for (u32 loops = 0;; loops++) {
		rq->moved = 0;
		OP(dispatch, rq->number, prev_on_scx ? &prev->t : NULL);
		if (!model.race_in)
			check_choice(rq->number);
		flush_dispatched(rq);
		if (prev_on_scx && may_keep(prev)) {
			rq->keep_prev = true;
			break;
		}
		if (rq->local.queued || consume(rq, &global_dsq) || !rq->moved)
			break;
		if (loops == DISPATCH_LOOPS) {
			rq->kicks |= 1ull << rq->number;
			break;
		}
	}
out:
	rq->in_balance = false;
}

struct model_task *pick_task(struct cpu *rq)
{
	struct model_task *p = rq->keep_prev ? rq->curr : rq->local.first;

	if (p && !p->t.scx.slice)
		p->t.scx.slice = SCX_SLICE_DFL;
	return p;
}

void put_prev_task(struct cpu *rq, struct model_task *p, enum class next)
{
	if (p->class == CLASS_IDLE && !rq->rt_on && model.is_loaded)
		OP(update_idle, rq->number, false);
	if (p->class != CLASS_EXT)
		return;
	update_curr(rq);
	cancel_run_end(p);
	if (is_queued(p)) {
		if (model.is_loaded)
			OP(stopping, &p->t, true);
		begin_wait(p);
		if (p->t.scx.slice)
			dispatch_enqueue(&rq->local, rq, p, ENQ_HEAD);
		else
			do_enqueue_task(rq, p, next == CLASS_IDLE ? SCX_ENQ_LAST : 0, -1);
	}
	if (next == CLASS_RT && !rq->cpu_released) {
		struct scx_cpu_release_args args = { .reason = rq->stoppers ? SCX_CPU_PREEMPT_STOP : 0 };

		rq->cpu_released = true;
		if (model.is_loaded)
			OP(cpu_release, rq->number, &args);
	}
}

void set_next_task(struct cpu *rq, struct model_task *p)
{
	if (p->class == CLASS_IDLE && model.is_loaded)
		OP(update_idle, rq->number, true);
	if (p->class != CLASS_EXT)
		return;
	if (is_queued(p)) {
		ops_dequeue(p, DEQ_CORE_SCHED_EXEC);
		dispatch_dequeue(p);
	}
	p->on_cpu = true;
	p->on_cpu_since = model.now;
	p->runnable_since = 0;
	if (model.is_loaded && is_queued(p))
		OP(running, &p->t);
	plan_run_end(p);
	plan_migrate_enable(p);
}
