/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scheduling class ext, as in kernel/sched/ext.c: tasks come to run queues and leave them, a CPU picks. The lock of the
 * CPU's run queue is held, unless a function says otherwise.
 */
#ifndef MODEL_CLASS_H
#define MODEL_CLASS_H

#include "model.h"

#define DEQ_SAVE 2 /* and ENQUEUE_RESTORE */
#define DEQ_CORE_SCHED_EXEC (1ull << 32)
#define DEQ_SCHED_CHANGE (1ull << 33) /* newer kernels */
#define DEQ_MIGRATING (1ull << 62)    /* the model's own: the task is between two run queues */

void update_curr(struct cpu *rq);
void enqueue_task(struct cpu *rq, struct model_task *p, u64 enq_flags);
void dequeue_task(struct cpu *rq, struct model_task *p, u64 deq_flags);
/* Fills the local DSQ, or lets the task go on that runs. */
void balance(struct cpu *rq);
/* NULL: idle. */
struct model_task *pick_task(struct cpu *rq);
void put_prev_task(struct cpu *rq, struct model_task *p, enum class next);
void set_next_task(struct cpu *rq, struct model_task *p);
/* Inserts into a DSQ what the program inserted, or at the end of dispatch. */
void flush_dispatched(struct cpu *rq);
/* Moves a task that may no longer run here to a CPU where it may. Drops the lock. */
void move_queued_task(struct cpu *rq, struct model_task *p);
/* scx_bpf_consume */
bool consume(struct cpu *rq, struct dsq *dsq);
/* scx_bpf_reenqueue_local */
u32 reenqueue_local(struct cpu *rq);

/* An op of the host runs on this CPU: the task that runs there cannot migrate meanwhile. */
#define OP(name, ...) \
	do { \
		enter_op(); \
		host_ops.name(__VA_ARGS__); \
		leave_op(); \
	} while (0)
void enter_op(void);
void leave_op(void);
extern struct sched_ext_ops host_ops;

#endif
