/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The storm: random scripts against the host in the model. A script in which something does not hold is made as short as
 * possible, and printed.
 *
 *   storm SEED [COUNT]        scripts COUNT (by default 1) from this seed on
 *   storm --find SEED COUNT   the same, but only says which seed failed: to make a script short takes many runs of it
 *   storm --script FILE       one script
 *   storm --print SEED        the script of a seed, without running it
 *
 * Exit codes: 0 all held, 1 something did not, 2 usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "script.h"

struct model model;

/* Seconds of CPU time after which a script counts as endless; wall-clock time would end scripts on a machine that does other things. */
#define LONGEST_S 30

#define MOST_TASKS 48
#define MOST_CGROUPS 24

static u64 state;

static u64 below(u64 n)
{
	return next_random(&state) % n;
}

static u64 all_cpus(u32 ncpus)
{
	return ncpus == 64 ? ~0ull : (1ull << ncpus) - 1;
}

/* Perhaps none */
static u64 some_cpus(u32 ncpus)
{
	return ncpus == 64 ? next_random(&state) : below(1ull << ncpus);
}

static u64 one_of(const u64 *values, u32 n)
{
	return values[below(n)];
}
#define ONE_OF(...) one_of((const u64[]){ __VA_ARGS__ }, sizeof((const u64[]){ __VA_ARGS__ }) / sizeof(u64))

/* Tasks are alone, or in processes of up to four. */
static struct birth any_birth(u32 index, u32 ncpus, bool may_be_kernel_thread)
{
	u64 all = all_cpus(ncpus);
	struct birth b = {
		.does.burst_ns = ONE_OF(50000, 300000, 1000000, 5000000, 30000000, ENDLESS),
		.does.sleep_ns = ONE_OF(100000, 1000000, 10000000, 100000000),
		.does.varies = below(2),
		.does.then = below(8)   ? THEN_SLEEP
			     : below(2) ? THEN_YIELD
			     : below(2) ? THEN_FORK
					: THEN_EXIT,
		.does.stays = ONE_OF(0, 0, 0, 10, 100),
		.does.lingers = !below(4),
		.leader = below(2) ? index : index - index % 4,
		.nice = below(3) ? 0 : (s32)below(40) - 20,
		.uid = 1000 + below(3),
		.mask = below(4) ? all : 1 + below(all),
		.is_kernel_thread = may_be_kernel_thread && !below(6),
	};

	if (b.does.then == THEN_YIELD && b.does.burst_ns < 300000)
		b.does.burst_ns = 300000;
	return b;
}

/* A cgroup gets a limit of CPU time, or loses it. */
static void make_limit(struct action *a)
{
	a->value = ONE_OF(0, 1000000, 5000000, 20000000, 100000000, 300000000);
	a->period_ns = ONE_OF(1000000, 10000000, 50000000, 100000000, 1000000000);
	a->burst_ns = below(2) ? 0 : below((u64)a->value + 1);
}

/* Cgroups come and go, nested, and tasks move among them. */
static void add_cgroup_actions(struct script *s, u32 ntasks)
{
	for (u32 i = 0; i < 200; i++) {
		struct action *a = &s->actions[s->nactions++];

		a->at_ns = below(4) ? below(s->end_ns) : 0;
		a->kind = ONE_OF(MKDIR, MKDIR, MKDIR, MOVE, MOVE, MOVE, WEIGHT, RMDIR, LIMIT);
		a->target = a->kind == MOVE ? below(ntasks) : 1 + below(MOST_CGROUPS);
		a->value = a->kind == MOVE ? below(1 + MOST_CGROUPS) : 1 + below(10000);
		a->parent = a->kind == MKDIR ? below(a->target) : 0;
		if (a->kind == LIMIT)
			make_limit(a);
	}
}

/* All tasks may run everywhere: then the order in which slices begin is checked (check_choice), if there are no races. */
static void free_tasks(struct script *s)
{
	for (u32 i = 0; i < s->nactions; i++) {
		struct action *a = &s->actions[i];

		a->birth.mask = all_cpus(s->ncpus);
		a->birth.does.stays = 0;
		if (a->kind == MASK)
			a->kind = WAKE;
	}
	s->race_in = below(2) ? 0 : s->race_in;
}

static void make_shards(struct script *s)
{
	s->host.shards = ONE_OF(1, 2, 2, 3, 4, 8, 16, 64);
	s->host.uneven = !below(3);
	if (below(2))
		free_tasks(s);
}

static void make_script(struct script *s, u64 seed)
{
	bool has_kernel_threads;
	u32 ntasks;

	memset(s, 0, sizeof(*s));
	state = seed * 0x2545f4914f6cdd1dull + 1;
	s->end_ns = 2000000000;
	s->ncpus = ONE_OF(1, 2, 2, 4, 8);
	if (host_most_shards() > 1 && !below(4))
		s->ncpus = ONE_OF(12, 16, 64);
	s->offline = below(3) ? 0 : some_cpus(s->ncpus);
	s->load_ns = below(3) ? 0 : below(500000000);
	s->hotplug_ns = below(4) ? 0 : below(s->end_ns);
	s->tick_ns = ONE_OF(1000000, 1000000, 3333333, 4000000, 10000000);
	s->race_in = ONE_OF(0, 4, 20, 200);
	s->seed = seed;
	if (!below(3))
		s->clock_ahead_ns[below(s->ncpus)] = ONE_OF(500, 1000000, 100000000, 5000000000);
	s->host.quantum_ns = ONE_OF(500000, 2000000, 4000000, 20000000);
	s->host.starvation_limit_ms = ONE_OF(0, 200, 1000, 15000);
	/* As the loader does by default: the limit is half of it. The limit counts what kernel threads leave, which may be little here. */
	has_kernel_threads = below(2);
	if (!has_kernel_threads)
		s->watchdog_ns = s->kernel_watchdog_ns = 2000000ull * s->host.starvation_limit_ms;
	s->host.modifiers = below(2) ? 0 : below(16);
	s->host.pool = below(4) ? 0 : 8;
	s->host.fail_every = below(4) ? 0 : 5;
	s->host.users = s->host.modifiers & 4 && below(2);
	s->host.cgroups = s->host.modifiers & 4 && !s->host.users;
	if (below(2))
		s->host.subordinates[s->host.nsubordinates++] = (struct subordinate_users){ 1001, 1002, 1000 };
	ntasks = 1 + below(MOST_TASKS);
	for (u32 i = 0; i < ntasks; i++) {
		struct action *a = &s->actions[s->nactions++];

		a->kind = CREATE;
		a->target = i;
		a->at_ns = below(3) ? below(1000000) : below(s->end_ns / 2);
		a->birth = any_birth(i, s->ncpus, has_kernel_threads);
	}
	for (u32 i = 0; i < 400; i++) {
		struct action *a = &s->actions[s->nactions++];

		a->at_ns = below(s->end_ns);
		a->kind = ONE_OF(WAKE, WAKE, NICE, MASK, EXIT, REAP, RT, RT, STOPPER);
		a->target = is_on_cpu(a->kind) ? below(s->ncpus) : below(ntasks);
		a->value = a->kind == NICE      ? (s64)below(40) - 20
			   : a->kind == MASK    ? (s64)(1 + below(all_cpus(s->ncpus)))
			   : a->kind == STOPPER ? (s64)ONE_OF(1000, 50000, 1000000)
						: (s64)ONE_OF(100000, 1000000, 8000000);
	}
	if (host_most_shards() > 1)
		make_shards(s);
	if (s->host.cgroups)
		add_cgroup_actions(s, ntasks);
	if (s->race_in && below(2)) {
		s->still_in = ONE_OF(50, 200);
		s->longest_still_ns = ONE_OF(100000, 3000000);
	}
}

/* ---- each script in a process of its own ---- */

struct outcome {
	char error[256];
	u64 at_ns; /* of the error */
	u64 events, decisions, moves, taken, hold;
	char held_in[64];
};

static struct outcome *outcome;

/* Returns whether everything held. */
static bool run_apart(const struct script *s)
{
	int status;
	pid_t child;

	memset(outcome, 0, sizeof(*outcome));
	fflush(NULL);
	child = fork();
	if (child < 0) {
		perror("fork");
		exit(1);
	}
	if (!child) {
		const struct rlimit longest = { LONGEST_S, LONGEST_S };
		const char *error;

		setrlimit(RLIMIT_CPU, &longest);
		error = run_script(s);
		outcome->at_ns = model.now;
		if (error)
			snprintf(outcome->error, sizeof(outcome->error), "at %llu ns: %s",
				 (unsigned long long)outcome->at_ns, error);
		outcome->events = host_events();
		outcome->decisions = host_decisions();
		outcome->moves = host_moves();
		outcome->taken = host_taken();
		outcome->hold = longest_hold.accesses;
		snprintf(outcome->held_in, sizeof(outcome->held_in), "%s", longest_hold.in);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		snprintf(outcome->error, sizeof(outcome->error), "ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	return !outcome->error[0];
}

/* The words of an error, without its numbers */
static void kind_of(const char *error, char *kind)
{
	const char *words = strstr(error, ": ");

	for (words = words ? words : error; *words; words++)
		if (*words < '0' || *words > '9')
			*kind++ = *words;
	*kind = '\0';
}

/* Whether this script fails as one did whose error is of this kind. If so it ends at its error, so the next try takes less time. */
static bool fails_alike(struct script *s, const char *wanted)
{
	char kind[sizeof(outcome->error)];
	u32 kept = 0;

	run_apart(s);
	kind_of(outcome->error, kind);
	if (strcmp(kind, wanted) != 0)
		return false;
	if (!outcome->at_ns || outcome->at_ns >= s->end_ns)
		return true;
	s->end_ns = outcome->at_ns + 1;
	for (u32 i = 0; i < s->nactions; i++)
		if (s->actions[i].at_ns <= outcome->at_ns)
			s->actions[kept++] = s->actions[i];
	s->nactions = kept;
	return true;
}

/* Leaves out as many actions as it can while the same error comes: halves, quarters, and so on. */
static void shorten(struct script *s)
{
	static struct script shorter;
	char wanted[sizeof(outcome->error)];

	kind_of(outcome->error, wanted);
	shorter = *s;
	if (fails_alike(&shorter, wanted))
		*s = shorter;

	for (u32 piece = (s->nactions + 1) / 2; piece; piece /= 2) {
		for (u32 from = 0; from < s->nactions;) {
			u32 n = piece < s->nactions - from ? piece : s->nactions - from;

			shorter = *s;
			memmove(&shorter.actions[from], &shorter.actions[from + n],
				(s->nactions - from - n) * sizeof(struct action));
			shorter.nactions -= n;
			if (fails_alike(&shorter, wanted))
				*s = shorter;
			else
				from += n;
		}
	}
	run_apart(s);
}

/* Random scripts from a seed on, up to the first in which something does not hold. Its seed is said; if asked for, it is made short and printed. */
static int run_random(u64 first, u64 count, bool prints)
{
	static struct script s;
	u64 events = 0, decisions = 0, moves = 0, taken = 0;

	for (u64 seed = first; seed < first + count; seed++) {
		make_script(&s, seed);
		if (!run_apart(&s)) {
			printf("# seed %llu: %s\n", (unsigned long long)seed, outcome->error);
			if (!prints)
				return 1;
			shorten(&s);
			printf("# shortened: %s\n", outcome->error);
			write_script(&s, stdout);
			return 1;
		}
		events += outcome->events;
		decisions += outcome->decisions;
		moves += outcome->moves;
		taken += outcome->taken;
	}
	printf("held: %llu scripts, %llu events, %llu decisions\n", (unsigned long long)count,
	       (unsigned long long)events, (unsigned long long)decisions);
	if (host_most_shards() > 1)
		printf("shards: %llu moves, %llu tasks taken\n", (unsigned long long)moves, (unsigned long long)taken);
	return 0;
}

static int run_file(const char *path)
{
	static struct script s;
	FILE *file = fopen(path, "r");
	u32 line;

	if (!file) {
		perror(path);
		return 2;
	}
	line = read_script(&s, file);
	fclose(file);
	if (line) {
		fprintf(stderr, "%s:%u: this line is not an action, or the machine is missing; see script.h\n", path,
			line);
		return 2;
	}
	if (run_apart(&s)) {
		printf("held: %llu events, %llu decisions, at most %llu accesses under the lock, in %s\n",
		       (unsigned long long)outcome->events, (unsigned long long)outcome->decisions,
		       (unsigned long long)outcome->hold, outcome->held_in);
		return 0;
	}
	printf("%s\n", outcome->error);
	return 1;
}

int main(int argc, char **argv)
{
	static struct script s;
	bool finds = argc > 1 && !strcmp(argv[1], "--find");

	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc == 3 && !strcmp(argv[1], "--script"))
		return run_file(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "--print")) {
		make_script(&s, strtoull(argv[2], NULL, 10));
		write_script(&s, stdout);
		return 0;
	}
	if (finds ? argc != 4 : argc < 2 || argc > 3) {
		fprintf(stderr, "usage: storm SEED [COUNT] | --find SEED COUNT | --script FILE | --print SEED\n");
		return 2;
	}
	argv += finds;
	return run_random(strtoull(argv[1], NULL, 10), argc > 2 ? strtoull(argv[2], NULL, 10) : 1, !finds);
}
