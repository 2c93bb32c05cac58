/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The machine: what it keeps, and what its parts share. */
#ifndef DIVVY_MACHINE_STATE_H
#define DIVVY_MACHINE_STATE_H

#include "../policy.h"
#include "../defaults.h"
#include "../lib/bits.h"
#include "../lib/pile.h"
#include "../lib/ring.h"
#include "../lib/threads.h"
#include "../lib/vtime.h"
#include "../weight/feasible.h"
#include "../weight/groups.h"
#include "../weight/procfair.h"
#include "../weight/tfps.h"
#include "../slice/flow.h"
#ifdef MACHINE_ENTITLED
#include "../entitled.h"
#define ENTITLED(call) call
#else
#define ENTITLED(call)
#endif

/* task.state, beside those of policy.h */
#define KNOWN 2
#define CUSTODY 8 /* the host gave it to us */
#define PARKED 32
#define FRESH 64    /* joined, and not yet enqueued since */
#define PINNED 128  /* allowed[] says where it may run */
#define TAKEN 512   /* taken from the policy for its class */
#define SEEN 1024   /* it joined the policy once: apart.h */
#define SUMMED 2048 /* uncharged_of_all counts it: weights.h */
/* The modifiers count it: while it is runnable, or in the queue of a policy with lazy removal */
#if HAS(DISCARD)
#define MEMBER 256
#else
#define MEMBER RUNNABLE
#endif

/* Whether tasks of a class have an order that can be compared with that of others: by the policy's keys, or the machine's tags */
#define ORDERS_CLASSES (HAS(KEY) || POLICY_SHARES)

#define NO_CPU 0xffffu
#define NO_TASK POOL /* no task has this id */

/* Modifiers, in the order in which they are applied: to a weight, then to a slice */
#define MODIFIERS(M) M(PROCFAIR, procfair) M(TFPS, tfps) M(GROUPS, groups) M(FEASIBLE, feasible) M(FLOW, flow)
#define PROCFAIR 1
#define TFPS 2
#define GROUPS 4
#define FEASIBLE 8
#define FLOW 16

/* A host that knows before it is loaded which of them are asked for defines MODIFIERS_LOADED: then the verifier sees
 * nothing of the others. If it has several machines, and one of them has the modifiers (placement R7), MACHINE_WITH_MODIFIERS is its
 * address; and MACHINE_REWEIGHED(m, id) is to hear whose weight changed. That one never picks, and its policy is told nothing; the others have no
 * modifiers but those that the policy includes. What is IN_PLACE is then inlined everywhere: where it is another
 * machine, the compiler knows that, and nothing is left of modifiers. */
#ifdef MACHINE_WITH_MODIFIERS
#define IN_PLACE ALWAYS_INLINE
#else
#define IN_PLACE inline
#endif
#ifndef MACHINE_REWEIGHED
#define MACHINE_REWEIGHED(m, id)
#endif

#define ALLOWED_SETS (2 * POOL)

struct allowed {
	u64 word[CPU_WORDS];
};

/* CPUs that are idle; idle.h */
struct idle {
	u64 word[CPU_WORDS];
	u64 words; /* those with a bit */
};

/* Forks: family.h */
struct family {
	u32 number; /* how many tasks had this id so far: an id may be used again */
	u32 parent; /* the task that made it, or 0 */
	u32 parents_number;
	u32 exits;     /* children that exited, and that no other came after */
	u64 ahead;     /* ns, the most that one of them received before it was due */
	u64 heaviest;  /* the greatest weight that it asked for */
	bool succeeds; /* it came after one of those */
};

/* So many sets of allowed CPUs have an order of their own. Class 0 is none: all CPUs. */
#ifndef CLASSES
#define CLASSES 62u
#endif
#define OTHERS (CLASSES + 1)
#define FREE (CLASSES + 2) /* with POLICY_SHARES: tasks that may run everywhere */
#define CLASS_SLOTS 128u

struct cpu_class {
	struct allowed cpus;
	u32 tasks;    /* that may run there and nowhere else */
	u32 runnable; /* of these */
	u32 last;     /* the one that was served last, */
	u64 last_key; /* and its key then */
	u64 time;     /* the greatest key of its own that was served since a task is runnable */
	u32 top_of;   /* the task that had */
	u64 top;      /* the greatest tag that was served where its tasks may run */
	u64 offset;   /* how far its tasks were moved on: levels.h */
};

/* Scratch of the searches among parked tasks */
struct search {
	u64 best_key;
	u32 best;   /* a task with this key */
	u32 later;  /* a CPU runs what comes later */
	u64 left;   /* classes to look at */
	u64 below;  /* those that are behind */
	u64 served; /* what these are behind */
	u64 wide;   /* and how far they may be */
	u64 here;   /* classes that may run on the CPU */
};

struct parking {
	u32 first;   /* in line: off the CPU where they ran, and not in custody, or taken back when they were picked */
	u32 after;   /* of an insertion among those whose set of CPUs is no class: others.h */
	u64 waiting; /* classes in which a task waits, as bits from class 1 on */
	u64 busy;    /* classes with a runnable task */
	u64 may[MAX_CPUS]; /* classes that may run on each CPU */
	u64 turn;
	struct cpu_class class[CLASS_SLOTS]; /* [1, FREE] */
};

/* Each task's part of it */
struct parked {
	struct links links; /* of those in line */
	struct piles piles; /* of classes */
	u64 base[POOL];     /* the offset at which its tags are */
	u8 of[POOL];        /* its class */
};

/* Virtual times of a policy that shares by weight and has no keys: apart.h */
struct apart {
	u64 served[MAX_CPUS]; /* the tag that each CPU served last */
};

#if HAS(VIRTUAL_TIME)
/* owners.h */
struct owner_times {
	struct vtime of[OWNERS];           /* a process, or above POOL a group by which threads are counted */
	u64 weight[OWNERS];                /* the most that its threads weighed */
	struct vtime of_group[MAX_GROUPS]; /* with the modifier groups */
	/* Scratch */
	u32 group; /* on the way to the root */
	u64 due;   /* ns, that its thread received */
	u64 most;  /* ns, that are held against an owner */
	u64 v;     /* virtual time */
	u64 ahead; /* the greatest lead of an owner over virtual time */
};
#endif

/* The fields that each event looks at come first: in BPF an address beyond 32 KiB takes two more instructions each time. */
struct machine {
	u64 now;
	u64 decisions; /* times that the policy was asked */
	u64 faults;    /* times that it answered against the contract (M4) */
	u32 modifiers;
	u32 asking; /* the policy once more */
	u32 passed; /* tasks that it named in vain in this dispatch */
	u32 next;   /* whom it named */
	u32 prev;   /* whose slice ended on the CPU that dispatches, or 0 */
	u32 found;  /* scratch of the searches below */
	u32 at;
	bool has_removed; /* the policy removed a task during this selection (lazy removal) */
	struct search search;
	struct idle idle;
	u16 why[MAX_CPUS];      /* why the slice on each CPU ends, if not because it expired */
	u32 promised[MAX_CPUS]; /* the task for which each CPU was woken */
#if POLICY_SHARES
	struct parking parking; /* each dispatch looks at it */
	struct apart apart;
#endif
#ifdef MACHINE_ENTITLED
	struct entitled entitled;
#endif
	struct DIVVY_POLICY s;
	struct feasible feasible;
#if !POLICY_SHARES
	struct parking parking;
#endif
	struct parked parked;
	struct allowed cpus; /* those that exist */
#if HAS(FORK)
	struct family family[POOL];
#endif
#ifndef MACHINE_SIZED
	u64 allowed[ALLOWED_SETS * CPU_WORDS]; /* words of the CPUs where each task may run; then of others.h */
#endif
	/* Modifiers that no selection includes come last. If there are several machines, only MACHINE_WITH_MODIFIERS has them: the structs of the others
	 * end here. */
	struct procfair procfair;
	struct tfps tfps;
	struct threads threads; /* for procfair and tfps */
	struct groups groups;
#if HAS(VIRTUAL_TIME)
	struct owner_times times;
#endif
	struct flow flow;
#ifdef MACHINE_SIZED
	struct flow *shared_flow; /* that of several machines, which is used instead, or NULL */
	u64 allowed[];            /* the host allocates as many as its CPUs need: ALLOWED_SETS */
#endif
};

#define MACHINE_BYTES_WITHOUT_MODIFIERS __builtin_offsetof(struct machine, procfair)

struct order {
	u32 id; /* 0: nothing to run */
	u32 kick; /* another CPU that is to ask for a dispatch because of it, or NO_CPU; without a task this CPU: it is to ask again */
	u64 slice; /* ns */
};

static inline struct task *machine_task(struct machine *m, u32 id)
{
	return &m->s.tasks.task[id & POOL_MASK];
}

/* The knowledge of programs */
static inline struct flow *machine_flow(struct machine *m)
{
#ifdef MACHINE_SIZED
	return m->shared_flow ? m->shared_flow : &m->flow;
#else
	return &m->flow;
#endif
}

/* Weights of groups are feasible as they are. */
static inline u32 modifiers_of(u32 asked)
{
	asked |= POLICY_MODIFIERS;
	return asked & GROUPS ? asked & ~FEASIBLE : asked;
}

_Static_assert(!(POLICY_MODIFIERS & ~FEASIBLE), "machine_has only asks whether other modifiers are loaded");

/* Whether any of them is there. Those that are loaded are, and the verifier knows them; but a machine with one CPU needs no FEASIBLE. As
 * this is asked often, it is one comparison with a constant where it can be. */
static IN_PLACE bool machine_has(const struct machine *m, u32 modifiers)
{
#ifdef MACHINE_WITH_MODIFIERS
	if (m != MACHINE_WITH_MODIFIERS)
		modifiers &= POLICY_MODIFIERS;
	if (!((modifiers_of(MODIFIERS_LOADED) | POLICY_MODIFIERS) & modifiers))
		return false;
#elif defined(MODIFIERS_LOADED)
	if (MODIFIERS_LOADED & modifiers & ~FEASIBLE)
		return true;
	if (!(modifiers & FEASIBLE) || !(modifiers_of(MODIFIERS_LOADED) & FEASIBLE))
		return false;
#endif
	return m->modifiers & modifiers;
}

/* Whether it never picks, and is there for weights only */
static IN_PLACE bool machine_only_weighs(const struct machine *m)
{
#ifdef MACHINE_WITH_MODIFIERS
	return m == MACHINE_WITH_MODIFIERS;
#else
	return false;
#endif
}

/* Whether its struct has the fields of modifiers that no selection includes */
static IN_PLACE bool machine_is_whole(const struct machine *m)
{
#ifdef MACHINE_WITH_MODIFIERS
	return m == MACHINE_WITH_MODIFIERS;
#else
	return true;
#endif
}

/* Whether a modifier may change weights. A policy that has one always takes the long way, because the verifier looks at both. */
static IN_PLACE bool machine_weighs(const struct machine *m)
{
	return POLICY_MODIFIERS || machine_has(m, PROCFAIR | TFPS | GROUPS | FEASIBLE);
}

/* Whether the modifiers count it */
static inline bool machine_is_member(const struct machine *m, u32 id)
{
	return m->s.tasks.task[id & POOL_MASK].state & MEMBER;
}

/* Words of a set of CPUs that count: all of them, or where a machine has its size, those that have a CPU. In BPF loops over
 * them are unrolled. */
static inline u32 machine_words(const struct machine *m)
{
#ifdef MACHINE_SIZED
	return (m->s.tasks.ncpus + 63) / 64;
#else
	return CPU_WORDS;
#endif
}

/* Where a task may run, if not everywhere */
static inline u64 *machine_allowed(struct machine *m, u32 id)
{
	return &m->allowed[(id & POOL_MASK) * machine_words(m)];
}

static inline bool machine_may_run(const struct machine *m, u32 id, u32 cpu)
{
	if (!(m->s.tasks.task[id & POOL_MASK].state & PINNED))
		return true;
	return m->allowed[(id & POOL_MASK) * machine_words(m) + (cpu & CPU_MASK) / 64] >> (cpu % 64) & 1;
}

/* Time as all CPUs see it: a host whose CPUs have clocks of their own passes each reading through here, under
 * the lock, because policies count on a `now` that does not go back. */
static inline u64 machine_now(struct machine *m, u64 reading)
{
	if (reading > m->now)
		m->now = reading;
	return m->now;
}

#endif
