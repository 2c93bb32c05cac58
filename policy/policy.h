/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The contract between a scheduling policy and the machine that runs it.
 *
 * A selection policy is one header in select/: pure C that decides who runs next. It has no clock,
 * no globals, no helpers, no floats; it is told everything and keeps what its paper adds. The host
 * compiler builds it into the simulator, clang builds the same file into a BPF scheduler.
 *
 * A policy called `xyz` defines, all of them `static`:
 *
 *   struct xyz                       its state; the first field is `struct facts facts`,
 *                                    the second `PARAMS(POLICY_PARAMS)`
 *   xyz_init(s)                      zeroed memory and parameters -> a policy with no tasks
 *   xyz_join(s, id, now, why)        the task became runnable: NEW or WOKEN
 *   xyz_leave(s, id, now, why)       it no longer is: BLOCKED or EXITED
 *   xyz_pick(s, cpu, now) -> id      who runs next on this CPU, 0 if nobody waits. The task is then
 *                                    picked: it is not offered again until stop, and it may not be
 *                                    picked already (GR3MP keeps a frontlog for that case)
 *   xyz_charge(s, id, ran, now)      it received `ran` ns of service since the last charge; told only
 *                                    during its turn, and before every call that the service can change
 *   xyz_stop(s, id, now, why)        its turn is over and it is still runnable: EXPIRED, PREEMPTED
 *                                    or YIELDED
 *   xyz_reweigh(s, id, w, now)       its effective weight becomes w; facts hold the old one until
 *                                    this returns, and service so far was charged at the old one
 *   xyz_slice(s, id) -> ns           optional (define POLICY_SLICE): how long a turn may last;
 *                                    else the machine's quantum
 *   xyz_preempts(s, woken, running, now)
 *                                    optional (define POLICY_PREEMPTS): whether a task that just
 *                                    joined takes the CPU from one that runs; else never
 *   POLICY_COUNTS_TURNS              optional: it shares out turns and not their service; a host that has to cut a
 *                                    turn short, or to let it last, makes up for it in the task's next turn
 *   xyz_bring(s, id, work)           optional (define POLICY_CLAIRVOYANT, and POLICY_SIMULATOR_ONLY: no kernel knows):
 *                                    the task's program begins `work` ns of work; told before join, and during its turn
 *   POLICY_MODIFIERS                 optional: the modifiers that its algorithm includes, which are
 *                                    then always on (FEASIBLE)
 *
 * and, for people and tools,
 *
 *   POLICY_BASELINE                  optional: papers compare with it; it is listed apart, and fuzzed for less long
 *   POLICY_SIMULATOR_ONLY            optional: why no kernel is to load it, a clause; it is not built for BPF, and need
 *                                    not be what the verifier asks for
 *   POLICY_SHOWS(V)                  optional: what it keeps of each task, for pictures: V(name, unit, value), the value an
 *                                    expression of the state s, a task's id and now that changes nothing. It is for the
 *                                    simulator only: no BPF program has it
 *   POLICY_PARAMS(P)                 the parameters, once: P(name, KIND, unit, default, min, max, help)
 *   POLICY_ABOUT(A)                  A(TITLE, "..") A(PAPER, "..") A(GUARANTEE, "..") A(COST, "..") A(DEVIATION, "..")
 *
 * Runnable includes running, as in the papers: join and leave bracket the time in which a task is
 * runnable, and pick and stop happen inside it. A runnable task is never lost: after stop, join or a
 * refused pick it is offered again. `now` does not go back.
 *
 * What the BPF verifier asks of a policy (kernel/bpf/check.sh tries every one):
 *   - a task is an index into pools whose size is a power of two: `&s->task[id & POOL_MASK]`, masked at each use;
 *   - at most one loop a function; the function that loops is NOINLINE, its condition ends in `&& can_loop`,
 *     its counter starts from a value that the verifier does not know (facts.zero, an argument, memory), and
 *     what it computes is left in the policy's state, not returned and not on the stack, where the verifier
 *     follows every value (lib/wide.h's division there: 38,000 instructions for stride, else 22,000);
 *   - what a loop calls is verified at each turn: few branches there. Every `if` on the way to a value is a
 *     path to explore, so lib/ computes without them (floor_log2 with branches: 60,000 instructions, now 8,000);
 *   - arithmetic is 64-bit, and unsigned where it divides; 128-bit products are lib/wide.h's;
 *   - no recursion, no pointers to functions, at most 8 frames and 512 bytes of stack in a chain of calls.
 */
#ifndef DIVVY_POLICY_H
#define DIVVY_POLICY_H

#ifndef __VMLINUX_H__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed long long s64;
#include <stdbool.h>
#endif

#ifdef __BPF__
#define POOL (1u << 14)
/* One loop a function: the verifier then explores its body once, not once for each way into it. */
#define NOINLINE __attribute__((noinline, unused))
/* may_goto: a jump that the kernel takes when a loop has run for too long, so the verifier need not follow
 * every turn. In bytes, because not every assembler knows its name. */
#define can_loop ({ \
	__label__ out_, in_; \
	bool go_ = true; \
	asm volatile goto("1: .byte 0xe5; .byte 0; .long ((%l[out_] - 1b - 8) / 8) & 0xffff; .short 0" \
			  :::: out_); \
	goto in_; \
	out_: go_ = false; \
	in_:; \
	go_; \
})
#else
#ifndef POOL
#define POOL (1u << 20)
#endif
#define NOINLINE inline
#define can_loop true
#endif

#define POOL_MASK (POOL - 1)
#define MAX_CPUS 256u
#define CPU_MASK (MAX_CPUS - 1)
#define CPU_WORDS (MAX_CPUS / 64)

/* Weights are fixed point with 20 fractional bits relative to nice 0, so a weight of 1 in the kernel's
 * table (nice 0 is 1024 there) is 1024 here, and dividing one by a number of threads loses nothing that
 * matters. A task's weight is at least WEIGHT_MIN and at most WEIGHT_MAX. */
#define WEIGHT_NICE_0 (1ull << 20)
#define WEIGHT_MIN 1ull
#define WEIGHT_MAX (1ull << 40)

/* Why a task joins, leaves or stops. */
enum why { NEW, WOKEN, BLOCKED, EXITED, EXPIRED, PREEMPTED, YIELDED };

/* What the machine knows of one task. Policies read it and never write it. */
struct fact {
	u64 weight;  /* effective, after the modifiers */
	u64 nominal; /* as its owner asked */
	u64 since;   /* when it came on its CPU */
	u64 charged; /* ns, of the run in progress: already charged; negative when earlier runs left a rest to charge */
	u32 process; /* the process that it belongs to, an index as tasks are */
	u16 cpu;     /* where it runs or ran last */
	u16 state;   /* machine.h */
};

struct facts {
	u32 ncpus;
	u32 nrunnable;        /* tasks, the running ones included */
	u64 quantum;          /* ns, a turn when the policy has no slice of its own */
	u64 zero;             /* always 0, and the verifier does not know it */
	u32 picked[MAX_CPUS]; /* the task whose turn it is on each CPU, or 0 */
	struct fact task[POOL];
};

#define PICKED 1  /* fact.state: it is the task's turn */
#define ON_CPU 16 /* fact.state: it runs */
#define SLICE_INF (~0ull) /* a turn without end */

static inline u64 weight_of(const struct facts *f, u32 id)
{
	return f->task[id & POOL_MASK].weight;
}

/* ns of service that a task received in its turn until now and was not charged yet */
static inline u64 uncharged(const struct facts *f, u32 id, u64 now)
{
	const struct fact *t = &f->task[id & POOL_MASK];
	u64 due = now - t->since - t->charged;

	return t->state & ON_CPU && (s64)due > 0 ? due : 0;
}

static inline bool is_picked(const struct facts *f, u32 id)
{
	return f->task[id & POOL_MASK].state & PICKED;
}

/* Parameters. Each is an s64: a TIME in ns, a RATIO in 2^-16 (RATIO_INF is infinity), an INTEGER, or a SWITCH. */
enum param_kind { TIME, RATIO, INTEGER, SWITCH };
#define RATIO_ONE (1ll << 16)
#define RATIO_INF 0x7fffffffffffffffll
#define MS 1000000ll

#define PARAM_FIELD(name, kind, unit, dflt, min, max, help) s64 name;
#define PARAM_DEFAULT(name, kind, unit, dflt, min, max, help) .name = (dflt),
#define PARAMS(list) struct { list(PARAM_FIELD) u64 no_params_[0]; } param;

enum about_kind { TITLE, PAPER, GUARANTEE, COST, DEVIATION };

#endif
