/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The contract between a scheduling policy and the machine that runs it.
 *
 * A selection policy is one header in select/: pure C that decides which task runs next. It has no clock,
 * no globals, no helpers, no floats; it is told everything and keeps what its paper adds. The host
 * compiler builds it into the simulator, clang builds the same file into a BPF scheduler.
 *
 * A policy called `xyz` defines, all functions `static inline`:
 *
 *   POLICY_TITLE                     one line for people
 *   struct xyz                       its state, which begins with `POLICY_STATE;`. `TASKS(xyz_task);` in there gives each task
 *                                    a struct xyz_task, and `task_of(s, id)` points to it
 *   xyz_join(s, id, now, why)        the task became runnable: NEW or WOKEN
 *   xyz_leave(s, id, now, why)       it no longer is: BLOCKED or EXITED
 *   xyz_pick(s, cpu, now) -> id      the task that runs next on this CPU, 0 if none waits. The task is then
 *                                    picked: it is not offered again until stop, and it may not be
 *                                    picked already (GR3MP keeps a frontlog for that case)
 *   xyz_stop(s, id, now, why)        its slice is over and it is still runnable: EXPIRED, PREEMPTED
 *                                    or YIELDED
 *
 * and those of the following that it lists in POLICY_HAS (`#define POLICY_HAS CHARGE | SLICE`). The others have defaults
 * (defaults.h), so a function that is not in the list is defined twice and does not compile:
 *
 *   INIT      xyz_init(s)            zeroed memory and parameters -> a policy with no tasks; else nothing
 *   CHARGE    xyz_charge(s, id, ran, now)
 *                                    the task received `ran` ns of service since the last charge; told only
 *                                    during its slice, and before every call that the service can change; else nothing
 *   REWEIGH   xyz_reweigh(s, id, w, now)
 *                                    its effective weight becomes w; the task table holds the old one until
 *                                    this returns, and service so far was charged at the old one; else nothing
 *   SLICE     xyz_slice(s, id) -> ns how long the slice that begins may last; else the machine's quantum
 *   PREEMPTS  xyz_preempts(s, woken, running, now)
 *                                    whether a task that just joined takes the CPU from one that runs; else never
 *   FORK      xyz_fork(s, id, parent, now)
 *                                    the task exists, and has not joined: told with parent 0, then once more if another task made
 *                                    it, with parent 0 if that is not known; its service until now is charged; else nothing. A policy in
 *                                    which a new task comes before others by service over weight lets a child begin where
 *                                    its parent's slice began, and adds debit_of when it joins: else who forks and exits,
 *                                    again and again, leaves behind what it received (machine/family.h)
 *   OVERDRAWN  xyz_overdrawn(s, id) -> ns
 *                                    with FORK: what a task that exits received before it was due; else what it used of its last
 *                                    slice
 *   VIRTUAL_TIME  xyz_virtual_time(s) -> u64
 *                                    the tag at which a task joins that has no claim and no debt, as last computed, in the unit of
 *                                    keys. join places no task before virtual_time + ahead_of. Otherwise the threads of a program could
 *                                    run one after the other, and each would have a turn before others have their second one
 *                                    (machine/owners.h)
 *   SESSION   xyz_session(s, id, now)
 *                                    the task's program says that it begins a session, work for another request; its
 *                                    service until now is charged; it need not be runnable; else nothing
 *   DISCARD   xyz_discard(s, id)
 *                                    lazy removal: it keeps a task that BLOCKED in its queue until that one's turn. Then
 *                                    pick answers `REMOVED | id`, and is asked again. Until then the modifiers count the
 *                                    task as if it were there, and it is told reweigh. xyz_discard: a task that
 *                                    left is taken down. Without this, a task that leaves is not in its queue
 *   PEEK      instead of pick, in two steps:
 *             xyz_peek(s, cpu, now) -> id  the task that runs next on this CPU, 0 if none waits
 *             xyz_take(s, id)        the task that peek named is picked
 *   KEY       with PEEK, for a policy that orders tasks by a number:
 *             xyz_key(s, id) -> u64  its place in the order: the least is first, compared by signed difference
 *             xyz_detach(s, id)      it is picked, whether it waited or had been picked, and waits in the machine's keeping
 *                                    among tasks with the same few CPUs: what others' tags are compared with leaves it
 *                                    out. It may get another weight; it is attached before any other call
 *   SHIFT     with KEY, if keys are virtual times:
 *             xyz_attach(s, id, by)  it is picked as any other from now on, and its tags are `by` later; else nothing
 *   PREPARE   xyz_before_peek(s, cpu, now)  with PEEK
 *                                    peek will be asked, once or more often, for a CPU that chooses; else nothing
 *   DROPS     with PEEK: peek may answer REMOVED, which names nobody: it did a part of what it has to do before it can
 *             choose, such as to forget a task that left. It is asked again, at once or after other events
 *   BRING     xyz_bring(s, id, work) with POLICY_SIMULATOR_ONLY, as no kernel knows: the task's program begins `work` ns
 *                                    of work; told before join, and during its slice
 *
 * It may define:
 *
 *   POLICY_PARAMS(P)                 its parameters: P(name, KIND, unit, default, min, max, help); base.h has the kinds.
 *                                    One that is called `seed` is that of its random numbers: lib/random.h
 *   POLICY_MODIFIERS                 the modifiers that its algorithm includes, which are then always on (FEASIBLE)
 *   POLICY_PREEMPTS_IF(s)            an expression of the state s: while it is 0, nobody is asked xyz_preempts. For a policy
 *                                    that preempts only if a parameter says so: to ask costs time for each CPU
 *   POLICY_SHARES 1                  it gives shares by weight, and has no KEY: it does not see tasks that may not run everywhere,
 *                                    which the machine orders by service over weight (machine/apart.h)
 *   POLICY_TAG_SCALE(s)              parts of a ns that its keys count, if they are not ns of a nice-0 task
 *   POLICY_LONGEST_SLICE(s)          ns, with OVERDRAWN: a slice that others wait for, if that is not the quantum
 *   POLICY_SUMS_UNCHARGED 1          it asks uncharged_of_all: the machine keeps that sum
 *   POLICY_LOOKS_AHEAD 1             its slices depend on the tasks that wait: beside tasks that may not run
 *                                    everywhere, which it does not see, they are cut to a quantum
 *   POLICY_PER_CPU_IF(s)             an expression of the state s: while it is not 0, a task that waits for one CPU is not named
 *                                    for another, so it gives way to nobody that has fewer CPUs to choose from
 *   POLICY_LINEAR n                  a decision may look at every task: at most n accesses to memory for each. A kernel loads it only for so many
 *                                    tasks as --max-tasks says, as all CPUs wait for the lock meanwhile; kernel/model/holds.py measures n
 *   POLICY_COUNTS_SLICES             it shares out slices and not their service; a host that has to cut a
 *                                    slice short, or to let it last, makes up for it in the task's next slice
 *   POLICY_LICENSE                   what its BPF program tells the kernel, if its SPDX line is not that of this file
 *   POLICY_BASELINE                  papers compare with it; it is listed apart, and fuzzed for less long
 *   POLICY_SIMULATOR_ONLY            why no kernel is to load it, a clause; it is not built for BPF, and need
 *                                    not be what the verifier asks for
 *   POLICY_SHOWS(V)                  what it keeps of each task, for pictures: V(name, unit, value), the value an
 *                                    expression of the state s, a task's id and now that changes nothing. It is for the
 *                                    simulator only: no BPF program has it
 *
 * Its paper, guarantees, costs and deviations stand in papers/NAME.md, under `## In short: xyz`, where the build finds them.
 *
 * Runnable includes running, as in the papers: join and leave bracket the time in which a task is
 * runnable, and pick and stop happen inside it. A runnable task is never lost: after stop, join or a
 * refused pick it is offered again. `now` does not go back.
 *
 * Rules that the BPF verifier sets for a policy (kernel/bpf/check.sh tries every one):
 *   - a task is an index into pools whose size is a power of two: `task_of(s, id)`, or masked at each use with POOL_MASK;
 *   - at most one loop a function; the function that loops is NOINLINE, its condition ends in `&& can_loop`,
 *     its counter starts from a value that the verifier does not know (tasks.zero, an argument, memory; lib/cpus.h has
 *     loops over CPUs), and what it computes is left in the policy's state, not returned and not on the stack, where the
 *     verifier follows every value (lib/wide.h's division there: 38,000 instructions for stride, else 22,000);
 *   - what a loop calls is verified in each iteration: few branches there. Every `if` on the way to a value is a
 *     path to explore, so lib/ computes without them (floor_log2 with branches: 60,000 instructions, now 8,000);
 *   - arithmetic is 64-bit, and unsigned where it divides; 128-bit products are lib/wide.h's, with `s->division` for scratch;
 *   - no recursion, no pointers to functions, at most 8 frames and 512 bytes of stack in a chain of calls.
 */
#ifndef DIVVY_POLICY_H
#define DIVVY_POLICY_H

#include "base.h"
#include "lib/wide.h"

/* Why a task joins, leaves or stops. */
enum why { NEW, WOKEN, BLOCKED, EXITED, EXPIRED, PREEMPTED, YIELDED };

/* The machine's entry for one task. Policies read it and never write it. */
struct task {
	u64 weight;  /* effective, after the modifiers */
	u64 nominal; /* as its owner asked */
	u64 since;   /* when it came on its CPU */
	u64 charged; /* ns, of the run in progress: already charged; negative when earlier runs left a rest to charge */
	u64 turn;    /* ns, charged since its slice began */
	u64 debit;   /* ns, with which it joins as new */
	u64 ahead;   /* with which it joins: ahead_of */
	u64 tag;     /* ns of a nice-0 task, with a policy that shares by weight and has no keys: machine/apart.h */
#ifdef MACHINE_ENTITLED
	struct {
		u64 V, U;    /* when it was settled */
		u64 service; /* ns, until then */
	} entitled;          /* entitled.h */
#endif
	u32 process; /* the process that it belongs to, an index as tasks are */
	u16 cpu;     /* where it runs or ran last */
	u16 state;   /* machine/state.h */
};

struct task_table {
	u32 ncpus;
	u32 nrunnable;        /* tasks, the running ones included */
	u32 nbound;           /* of these: that may not run on all CPUs */
	u32 capped;           /* the task that reweigh is called for, if it asked for more than a CPU and still does */
	u64 quantum;          /* ns, a slice when the policy has none of its own */
	u64 zero;             /* always 0, and the verifier does not know it */
	u64 nsummed;          /* tasks that uncharged_of_all counts */
	u64 summed;           /* the sum of their since + charged, ns */
	u32 picked[MAX_CPUS]; /* the task whose slice it is on each CPU, or 0 */
	struct task task[POOL];
};

#define PICKED 1          /* task.state: it has its slice */
#define RUNNABLE 4        /* task.state: it joined, and did not leave */
#define ON_CPU 16         /* task.state: it runs */
#define SLICE_INF (~0ull) /* a slice without end */

/* The beginning of every policy's state */
#define POLICY_STATE \
	struct task_table tasks; \
	struct wide_division division; \
	PARAMS(POLICY_PARAMS)

/* The policy's own entry for each task: `TASKS(xyz_task);`, or the fields themselves, `TASKS({ u64 service; });` */
#define TASKS(...) struct __VA_ARGS__ task[POOL]
#define task_of(s, id) (&(s)->task[(id) & POOL_MASK])

/* POLICY_HAS */
#define INIT 1
#define CHARGE 2
#define REWEIGH 4
#define SLICE 8
#define PREEMPTS 16
#define BRING 32
#define FORK 64
#define SESSION 128
#define DISCARD 256
#define KEY 512
#define SHIFT 1024
#define PREPARE 2048
#define PEEK 4096
#define OVERDRAWN 8192
#define DROPS 16384
#define VIRTUAL_TIME 32768

#define REMOVED (1u << 31) /* pick's answer: this task blocked, and is no longer in the queue; peek's: see DROPS */

static inline u64 weight_of(const struct task_table *t, u32 id)
{
	return t->task[id & POOL_MASK].weight;
}

/* The process that it belongs to, an index as tasks are */
static inline u32 process_of_task(const struct task_table *t, u32 id)
{
	return t->task[id & POOL_MASK].process;
}

/* Where it runs or ran last; not a CPU if it never ran */
static inline u32 cpu_of(const struct task_table *t, u32 id)
{
	return t->task[id & POOL_MASK].cpu;
}

/* ns of service that a task received in its slice until now and was not charged yet */
static inline u64 uncharged(const struct task_table *table, u32 id, u64 now)
{
	const struct task *t = &table->task[id & POOL_MASK];
	u64 due = now - t->since - t->charged;

	return t->state & ON_CPU && (s64)due > 0 ? due : 0;
}

/* ns of service that all tasks which the policy sees received and were not charged for. It may be below 0: a task can be charged for a
 * little more than it received, if a host's clock counts what the kernel did meanwhile. */
static inline u64 uncharged_of_all(const struct task_table *t, u64 now)
{
	return t->nsummed * now - t->summed;
}

/* ns of service that a task received, and was charged for, in the slice that it has or had last */
static inline u64 turn_of(const struct task_table *t, u32 id)
{
	return t->task[id & POOL_MASK].turn;
}

/* ns of service that a new task owes when it joins, because another one made it (machine/family.h); else 0 */
static inline u64 debit_of(const struct task_table *t, u32 id)
{
	return t->task[id & POOL_MASK].debit;
}

/* How much later than virtual time a task begins when it joins, because its program or group is ahead by so much (machine/owners.h); in
 * the unit of virtual_time, mostly 0 */
static inline u64 ahead_of(const struct task_table *t, u32 id)
{
#ifdef MACHINE_WITH_MODIFIERS
	return 0; /* no machine of several has both owners and tasks that join a policy */
#else
	return t->task[id & POOL_MASK].ahead;
#endif
}

static inline bool is_runnable(const struct task_table *t, u32 id)
{
	return t->task[id & POOL_MASK].state & RUNNABLE;
}

static inline bool is_picked(const struct task_table *t, u32 id)
{
	return t->task[id & POOL_MASK].state & PICKED;
}

#endif
