/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A script: the machine, the host's options, and what is done when, one line each. It is what the storm makes from a seed,
 * what it prints when something does not hold, and what it reads again:
 *
 *   machine cpus=4 tick=1000000 race=50 seed=7
 *   host quantum=4000000 modifiers=0 starvation=1000 pool=0 fail=0 users=0 cgroups=0 shards=0 uneven=0
 *   still 50 3000000
 *   clock 1 5000000000
 *   offline 2
 *   subordinate 100000 165535 1000
 *   load 100000000
 *   hotplug 900000000
 *   end 2000000000
 *   watchdog 2000000000 kernel=3000000000
 *   expect decisions=900 most=1000
 *   expect service 3..8 least=100000000 most=200000000
 *   at 1000 create 3 burst=2000000 sleep=500000 varies=1 then=0 leader=3 nice=5 uid=1000 mask=15 kernel=0 stays=50
 *   at 2000 wake 3
 *   at 9000 nice 3 10
 *   at 9000 mask 3 1
 *   at 9000 exit 3
 *   at 9000 rt 1 5000000
 *   at 9000 stopper 1 10000
 *   at 0 mkdir 1 100 in=0
 *   at 0 mkdir 2..9 100 in=last
 *   at 100 move 3 9
 *   at 100 limit 9 20000000 period=100000000 burst=0
 *   at 0 create 10..1000 burst=.. leader=self ..
 *   repeat 50 1000000 at 9000 mask 3 1
 *
 * Times are ns. `still`: of the preemption points that switch to another CPU, one in so many stands still for up to so long. `clock` is how far a CPU's clock is ahead, `offline` a mask of CPUs that are offline. `subordinate`
 * says which users belong to another one, in order. The scheduler is loaded at `load`, beside tasks that are there already,
 * and at `hotplug` a CPU comes or goes: then the kernel ends it, and nobody may have an id left. `watchdog` is the longest that a task may wait for a CPU, by default the kernel's 30 s,
 * and for a kernel thread, by default the same. `expect` is the least
 * number of decisions until the end and the greatest (0: any), or the service that tasks get together. `rt` has a CPU and how long a real-time task takes
 * it; `stopper` the same of the kernel's stopper thread. An action may have a range of targets; with leader=self each is a process of its own, and with
 * uid=own a user of its own. `repeat` has how often, and every
 * how many ns. `stays` is optional: percent of the times that the task is preempted while it must not migrate; `lingers` as well:
 * the task is there until `reap` when it has ended. `mkdir` has a cgroup's number, its weight, and its parent, where 0 is the root and
 * `last` the number before; `move` a task and a cgroup; `limit` a cgroup, and its
 * quota (0: none), period and burst. An action on a task or cgroup that does not exist does nothing.
 */
#ifndef MODEL_SCRIPT_H
#define MODEL_SCRIPT_H

#include <stdio.h>

#include "host_model.h"
#include "task.h"

#define MAX_ACTIONS 32768
#define MAX_EXPECTED 8
#define FIRST_OWN_UID 10000
/* A starvation limit that is longer counts as none. */
#define LONGEST_SCRIPT_MS 10000
#define KERNELS_WATCHDOG_NS 30000000000ull

enum action_kind { CREATE, WAKE, NICE, MASK, EXIT, REAP, MOVE, RT, STOPPER, MKDIR, WEIGHT, RMDIR, LIMIT, ACTION_KINDS };

/* Whether the target of such an action is a CPU */
static inline bool is_on_cpu(enum action_kind kind)
{
	return kind == RT || kind == STOPPER;
}

struct action {
	u64 at_ns;
	enum action_kind kind;
	u32 target; /* a task, a CPU, or a cgroup */
	s64 value;
	u32 parent; /* of a cgroup */
	u64 period_ns, burst_ns;
	struct birth birth;
};

/* The service of tasks first to last together */
struct expected {
	u32 first, last;
	u64 least_ns, most_ns;
};

struct script {
	u32 ncpus, race_in, still_in;
	u64 longest_still_ns;
	u64 tick_ns, seed, end_ns, watchdog_ns, kernel_watchdog_ns, least_decisions, most_decisions;
	struct expected expected[MAX_EXPECTED];
	u32 nexpected;
	u64 clock_ahead_ns[MAX_MODEL_CPUS], offline, load_ns, hotplug_ns;
	struct host_options host;
	u32 nactions;
	struct action actions[MAX_ACTIONS];
};

void write_script(const struct script *script, FILE *file);
/* Returns the number of the line that cannot be read, or 0. */
u32 read_script(struct script *script, FILE *file);
/* Runs it in this process. Returns why the scheduler was thrown out, or NULL. */
const char *run_script(const struct script *script);

#endif
