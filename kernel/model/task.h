/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Tasks: they come, sleep and wake, have their attributes changed, and go. Functions run in a CPU's coroutine. */
#ifndef MODEL_TASK_H
#define MODEL_TASK_H

#include "model.h"

struct birth {
	struct behaviour does;
	u32 leader; /* index of the process's first thread, or its own */
	s32 nice;
	u32 uid;
	u64 mask;
	bool is_kernel_thread;
	bool is_orphan; /* it comes from outside: no task forks it */
};

/* Creates a task that sleeps: fork() without waking it. */
void create_task(u32 index, const struct birth *birth);
/* try_to_wake_up, or the first wake-up of a new task */
void wake_up(struct model_task *p);
/* Other CPUs may ask for what is theirs alone: it is done when the task is not running elsewhere. */
void set_nice(struct model_task *p, s32 nice);
void set_mask(struct model_task *p, u64 mask);
/* On the task's CPU, where it runs: it goes to sleep, or ends, or lets others run first, when the CPU schedules. */
void block_task(struct model_task *p);
void exit_task(struct model_task *p);
void yield_task(struct model_task *p);
/* The task ends when it next runs. */
void end_task(struct model_task *p);
/* A task does not linger any more. */
void reap_task(struct model_task *p);
/* It is in another cgroup, and the scheduler is told so, or not. */
void set_cgroup(struct model_task *p, struct cgroup *cgroup, bool tells);
/* ops.disable and ops.exit_task of a task that is dead */
void free_task(struct model_task *p);
/* ops.init_task and set_weight, when a task is born or the scheduler is loaded */
void init_task(struct model_task *p, bool fork);

/* It may be preempted where it must not migrate; and what the kernel does when it was, and when it may migrate again. */
void migrate_disable(struct model_task *p);
void migrate_disable_switch(struct cpu *rq, struct model_task *p);
void plan_migrate_enable(struct model_task *p);

/* The scheduler begins, beside the tasks that there are; it ends, and the tasks go on. */
void enable_scheduler(void);
void disable_scheduler(void);

/* The event at which the running task's burst ends. */
void plan_run_end(struct model_task *p);
void cancel_run_end(struct model_task *p);

#endif
