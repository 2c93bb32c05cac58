/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A deterministic model of sched_ext around the unchanged BPF host (../bpf/host.bpf.c), as ordinary C.
 *
 * The model does what kernel/sched/ext.c of Linux 6.12 does (or of later kernels: MODEL_NEWER), in its order, and calls the host's ops as the kernel does.
 * Names of functions are the kernel's, where the kernel has such a function. What happens is a script (script.h): tasks,
 * what they do, and faults; or a simulator says what tasks do (session.c). Time is simulated.
 *
 *   coroutine.h  each CPU executes kernel code in a coroutine; spin locks between them
 *   events.h     what happens when
 *   queues.h     dispatch queues (DSQs)
 *   task.h       tasks, and what they do
 *   cgroups.h    cgroups; bucket.h: their limits of CPU time
 *   class.h      the scheduling class: enqueue, dequeue, pick, tick
 *   cpu.h        interrupts, and the loop of schedule()
 *   helpers.c    BPF helpers, maps, timers; kfuncs.c: functions of sched_ext
 *   host.c       the host, and what the model asks it
 *   check.h      what must hold
 *
 * Races: at a preemption point (`may_switch`) another CPU may go on first. There is one before each helper, each kfunc,
 * each lock and unlock, and each access of the host to shared memory without the lock (memory.c).
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy.h"
#include <linux/bpf.h>
#include "kernel.h"

#define MAX_MODEL_CPUS 64
#ifndef MAX_MODEL_TASKS
#define MAX_MODEL_TASKS 4096
#endif

/* 0: Linux 6.12; 71: Linux 7.1 and 7.2, 73: later ones, which do some things in another way: class.c and kfuncs.c */
#ifndef MODEL_NEWER
#define MODEL_NEWER 0
#endif

enum class { CLASS_IDLE, CLASS_EXT, CLASS_RT };

/* p->scx.ops_state */
enum ops_state { OPS_NONE, OPS_QUEUEING, OPS_QUEUED, OPS_DISPATCHING };

struct model_task;

struct dsq {
	u64 id;
	struct model_task *first, *last;
	u32 queued;
};

struct lock {
	struct cpu *holder;
};

#define ENDLESS (~0ull)

/* A task repeats: run for burst_ns, then do `then`. THEN_FORK makes a task like it, with the next number, and exits. */
enum then { THEN_SLEEP, THEN_YIELD, THEN_EXIT, THEN_FORK };

struct behaviour {
	u64 burst_ns; /* mean; ENDLESS: it always runs */
	u64 sleep_ns; /* mean */
	bool varies;  /* both are exponential, else constant */
	enum then then;
	u32 stays;    /* percent of the times that it is preempted when it must not migrate, as in a seccomp filter */
	bool lingers; /* when it has ended, until it is reaped */
};

struct model_task {
	struct task_struct t; /* what the host sees; first */
	u32 index;
	enum class class;
	struct behaviour does;
	u64 random;
	u64 left_ns; /* of its burst */
	u64 on_cpu_since;
	u64 runnable_since; /* as the watchdog sees it; 0: it is not, or it runs */
	u64 queued_since;   /* the host had it enqueued last */
	u64 let_go;         /* the checks found that the host does not hold it any more */
	u64 enqueued_seen;  /* when the host enqueued it, as they saw last */
	u64 generation;     /* of its run-end event */

	s32 cpu;
	bool on_rq;        /* runnable, in the kernel's sense */
	bool is_migrating; /* between two run queues */
	bool on_cpu;       /* it runs, or is being switched out */
	bool dead, exists;
	bool is_known;     /* ops.init_task was called for it, and exit_task was not */
	bool is_beginning; /* init_task has not returned: the kernel has a reference */
	struct lock pi_lock;

	/* sched_ext_entity */
	enum ops_state ops_state;
	bool in_custody; /* newer kernels: dequeue is to be called when the scheduler has it no more */
	u64 qseq;
	struct dsq *dsq;
	struct model_task *next, *prev;
	s32 holding_cpu, sticky_cpu;
	u64 ddsp_dsq, ddsp_flags; /* direct dispatch; 0: none */

	struct cpumask mask;
	struct cpumask here; /* the effective mask while it must not migrate */
	struct cred cred;
	struct mm_struct mm;
	struct cgroup *cgroup;
	s32 references;

	u64 service_ns;
};

struct cpu {
	s32 number;
	struct lock rq;
	struct model_task *curr;    /* the task that has the CPU */
	struct model_task *current; /* the task in whose name code runs: during a switch still the one before */
	struct model_task idle;
	struct dsq local;
	bool need_resched, in_balance, keep_prev, cpu_released, is_online;
	bool rt_on;                           /* a real-time task runs, or a stopper thread */
	u32 rt_waiting;                       /* of both, those that want this CPU, with the one that runs */
	u32 stoppers;                         /* of these, stopper threads: nothing is above them */
	struct model_task *stop_for;          /* the stopper thread is to move this task away */
	u64 kicks_preempt, kicks_idle, kicks; /* masks of CPUs, carried out when interrupts are on again */
	struct model_task *enqueueing;        /* the task of ops.enqueue, for direct dispatch */
	struct {
		struct model_task *p;
		u64 qseq, dsq, flags;
	} dispatched[32];
	u32 ndispatched;
	u32 moved;   /* tasks that ops.dispatch inserted or consumed */
	u32 lookups; /* in maps, of this op */
	u64 switches, idle_since;
	u64 clock_ahead_ns; /* of the model's time */
};

struct model {
	u32 ncpus;
	u64 online; /* a mask */
	u64 now;
	u64 tick_ns;
	u64 loaded_ns;                       /* when the scheduler was */
	bool rescues;                        /* tasks that wait for as long as a script may take run out of order */
	u64 watchdog_ns, kernel_watchdog_ns; /* of tasks, and of kernel threads */
	u64 random;
	u32 race_in;  /* one preemption point in so many switches to another CPU; 0: none does */
	u32 still_in; /* one in so many of these stands still, for up to longest_still_ns; 0: none does */
	u64 longest_still_ns;
	u64 qseq;
	u32 ntasks;
	u32 forks, ends; /* of tasks, under way */
	bool is_loaded;
	bool is_bypassed; /* it ends: it is told what happens, and not asked */
	bool inits_tasks; /* it is loaded, or begins to be */
	char error[256];  /* why the kernel threw the scheduler out; empty: it did not */
};

extern struct model model;

/* How often the kernel called these ops. */
struct calls {
	u64 enqueue, dequeue;
	u64 taken_back; /* calls of dequeue that say that the kernel takes the task back; before 7.1 all do */
};

extern struct calls calls;
extern struct cpu cpus[MAX_MODEL_CPUS];
extern struct model_task tasks[MAX_MODEL_TASKS];

static inline struct model_task *model_task(const struct task_struct *p)
{
	return (struct model_task *)p;
}

/* splitmix64 */
static inline u64 next_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* The kernel's scx_error: the scheduler is thrown out. Only the first reason is kept. */
void scx_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The CPU whose code runs now. */
extern struct cpu *this_cpu;

/* A preemption point. */
void may_switch(void);

void spin_lock(struct lock *lock);
void spin_unlock(struct lock *lock);

#endif
