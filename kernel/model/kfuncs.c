/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Functions of sched_ext that the host calls, under their names of Linux 6.12, and scx_bpf_now; with MODEL_NEWER the setters of 6.19. Other
 * newer names stay undefined: the host's own test for them chooses, as in a kernel. */
#include <stdarg.h>
#include <stdio.h>

#include "cgroups.h"
#include "check.h"
#include "class.h"
#include "cpu.h"
#include "queues.h"

void scx_error(const char *format, ...)
{
	va_list arguments;

	if (model.error[0])
		return;
	va_start(arguments, format);
	vsnprintf(model.error, sizeof(model.error), format, arguments);
	va_end(arguments);
}

/* Later kernels have it: each CPU has a clock of its own. */
u64 scx_bpf_now(void)
{
	check_move();
	may_switch();
	return model.now + this_cpu->clock_ahead_ns;
}

s32 scx_bpf_create_dsq(u64 dsq, s32 node)
{
	may_switch();
	return make_dsq(dsq);
}

s32 scx_bpf_dsq_nr_queued(u64 id)
{
	struct dsq *dsq;

	may_switch();
	dsq = find_dsq(id);
	return dsq ? (s32)dsq->queued : -2;
}

void scx_bpf_dispatch(struct task_struct *task, u64 dsq, u64 slice, u64 enq_flags)
{
	struct model_task *p = model_task(task);
	struct cpu *cpu = this_cpu;

	may_switch();
	p->t.scx.slice = slice ?: p->t.scx.slice ?: 1;
	if (cpu->enqueueing) {
		if (cpu->enqueueing != p || p->ddsp_dsq) {
			scx_error("task %u: direct dispatch of another task, or twice", p->index);
			return;
		}
		p->ddsp_dsq = dsq;
		p->ddsp_flags = enq_flags;
		return;
	}
	if (cpu->ndispatched == 32) {
		scx_error("too many tasks dispatched at once");
		return;
	}
	cpu->dispatched[cpu->ndispatched].p = p;
	cpu->dispatched[cpu->ndispatched].qseq = p->qseq;
	cpu->dispatched[cpu->ndispatched].dsq = dsq;
	cpu->dispatched[cpu->ndispatched++].flags = enq_flags;
}

void scx_bpf_dispatch_cancel(void)
{
	may_switch();
	if (!this_cpu->ndispatched)
		scx_error("no dispatch to cancel");
	else
		this_cpu->ndispatched--;
}

bool scx_bpf_consume(u64 id)
{
	struct dsq *dsq = find_dsq(id);
	bool moved;

	may_switch();
	if (!dsq) {
		scx_error("no DSQ %llu", (unsigned long long)id);
		return false;
	}
	moved = consume(this_cpu, dsq);
	this_cpu->moved += moved;
	return moved;
}

void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	u64 bit = 1ull << cpu;

	may_switch();
	if (cpu < 0 || cpu >= (s32)model.ncpus) {
		scx_error("no CPU %d", cpu);
		return;
	}
	if (flags & SCX_KICK_PREEMPT)
		this_cpu->kicks_preempt |= bit;
	else if (flags & SCX_KICK_IDLE)
		this_cpu->kicks_idle |= bit;
	else
		this_cpu->kicks |= bit;
}

s32 scx_bpf_task_cpu(const struct task_struct *p)
{
	may_switch();
	return model_task(p)->cpu;
}

u32 scx_bpf_reenqueue_local(void)
{
	may_switch();
	return reenqueue_local(this_cpu);
}

u32 scx_bpf_nr_cpu_ids(void)
{
	return model.ncpus;
}

struct task_struct *bpf_task_acquire(struct task_struct *p)
{
	may_switch();
	if (!model_task(p)->references)
		return NULL;
	model_task(p)->references++;
	return p;
}

void bpf_task_release(struct task_struct *p)
{
	may_switch();
	model_task(p)->references--;
}

struct task_struct *bpf_task_from_pid(s32 pid)
{
	struct model_task *p;

	may_switch();
	if (pid < 1 || pid > MAX_MODEL_TASKS || !tasks[pid - 1].exists)
		return NULL;
	p = &tasks[pid - 1];
	p->references++;
	return &p->t;
}

/* A cgroup's memory is kept, so its references are not counted. */
struct cgroup *bpf_cgroup_from_id(u64 id)
{
	may_switch();
	return find_cgroup((u32)id - 1);
}

void bpf_cgroup_release(struct cgroup *cgroup)
{
	may_switch();
}

bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	return cpu < 64 && mask->bits[0] >> cpu & 1;
}

void bpf_rcu_read_lock(void)
{
	may_switch();
}

void bpf_rcu_read_unlock(void)
{
	may_switch();
}

#if MODEL_NEWER
bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice)
{
	may_switch();
	p->scx.slice = slice;
	return true;
}

bool scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime)
{
	may_switch();
	p->scx.dsq_vtime = vtime;
	return true;
}
#endif
