// SPDX-License-Identifier: MIT OR Apache-2.0
//
// attack NAME SCALE SETTLE_MS MEASURE_MS: user 1001 attacks, user 1002 has a program with as many threads as there are CPUs, which always
// run. Prints the CPU time that each received while it measured, and how much CPU time there was, in us. It runs as root. Each user's
// tasks are in a cgroup, which counts and divides nothing, except under --cgroups.
//
// The attack begins first, so that the bystander meets whatever it has used up.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ATTACKER 1001
#define BYSTANDER 1002
#define FIRST_SUBORDINATE 100000
#define CGROUPS "/sys/fs/cgroup/"

static int cpus;       /* of the machine */
static int scale;      /* how many threads */
static int ready = -1; /* the leader of the attack writes there when the attack has begun; nobody else has this end */

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "attack: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void sleep_ms(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000l };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void spin(void)
{
	for (;;)
		__asm__ volatile("");
}

static void spin_ns(long long ns)
{
	for (long long end = now_ns() + ns; now_ns() < end;)
		;
}

static pid_t fork_or_die(void)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (!pid)
		close(ready);
	return pid;
}

/* Threads begin when all are there: one that is created late would wait for those that run already. */
static pthread_mutex_t begin = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *body)
{
	pthread_mutex_lock(&begin);
	pthread_mutex_unlock(&begin);
	((void (*)(void))body)();
	return NULL;
}

static void start_threads(int n, void (*body)(void))
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	pthread_mutex_lock(&begin);
	for (int i = 0; i < n; i++)
		must(!(errno = pthread_create(&thread, &small, run, (void *)body)), "a thread");
	pthread_mutex_unlock(&begin);
}

static void start_processes(int n, void (*body)(void))
{
	for (int i = 0; i < n; i++)
		if (!fork_or_die())
			body();
}

/* ---- cgroups ---- */

static void write_file(const char *value, const char *format, ...)
{
	char path[512];
	va_list arguments;
	FILE *file;

	va_start(arguments, format);
	vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	file = fopen(path, "w");
	must(file, path);
	fputs(value, file);
	must(!fclose(file), path);
}

static void enter(const char *cgroup)
{
	write_file("0", CGROUPS "%s/cgroup.procs", cgroup);
}

static long long used_us(const char *cgroup)
{
	char path[128];
	long long us = -1;
	FILE *file;

	snprintf(path, sizeof(path), CGROUPS "%s/cpu.stat", cgroup);
	file = fopen(path, "r");
	must(file && fscanf(file, "usage_usec %lld", &us) == 1, path);
	fclose(file);
	return us;
}

static int remove_cgroup(const char *path, const struct stat *status, int type, struct FTW *at)
{
	return type == FTW_DP ? rmdir(path) : 0;
}

/* Its tasks have been killed, but may still be about to end. */
static void remove_cgroups(const char *cgroup)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUPS "%s", cgroup);
	while (nftw(path, remove_cgroup, 16, FTW_DEPTH | FTW_PHYS))
		sleep_ms(10);
}

static long long dying_cgroups(void)
{
	FILE *file = fopen(CGROUPS "cgroup.stat", "r");
	char line[128];
	long long n = -1;

	must(file, "cgroup.stat");
	while (n < 0 && fgets(line, sizeof(line), file))
		sscanf(line, "nr_dying_descendants %lld", &n);
	fclose(file);
	must(n >= 0, "nr_dying_descendants");
	return n;
}

/* The kernel's worker frees removed cgroups. After thousands of them it uses an eighth of four CPUs for seconds. The next attack would count this as time that
 * neither side received. Some may have been there before. */
static void wait_until_freed(long long before)
{
	for (int i = 0; dying_cgroups() > before; i++) {
		must(i < 6000, "removed cgroups are not freed");
		sleep_ms(10);
	}
}

/* As a service manager gives a user a part of the tree, in which no task may be beside cgroups */
static void delegate(const char *cgroup)
{
	static const char *const files[] = { "", "/cgroup.procs", "/cgroup.subtree_control" };
	char path[128];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), CGROUPS "%s%s", cgroup, files[i]);
		must(!chown(path, ATTACKER, ATTACKER), path);
	}
	snprintf(path, sizeof(path), CGROUPS "%s/main", cgroup);
	must(!mkdir(path, 0755), path);
	snprintf(path, sizeof(path), "%s/main", cgroup);
	enter(path);
}

/* ---- the attacks ---- */

/* The kernel runs a filter with migration disabled, and a filter may be long. */
static void loop_in_filter(void)
{
	static struct sock_filter filter[BPF_MAXINSNS];
	struct sock_fprog program = { BPF_MAXINSNS, filter };

	/* It reads an argument, or the kernel would remember what it says of a system call. */
	for (int i = 0; i < BPF_MAXINSNS; i++)
		filter[i] =
			(struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
	filter[BPF_MAXINSNS - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "a filter");
	for (;;)
		syscall(SYS_getppid);
}

static void filters(void)
{
	start_processes(2 * cpus, loop_in_filter);
}

static void sleep_for_good(void)
{
	for (;;)
		pause();
}

/* Sleeping threads use up what the policy has room for. */
static void pool(void)
{
	start_threads(scale, sleep_for_good);
	start_processes(2 * cpus, spin);
}

static void threads(void)
{
	start_threads(scale, spin);
}

static void in_chain(void)
{
	for (;;) {
		spin_ns(3500000);
		if (fork_or_die())
			_exit(0);
	}
}

/* Each child has a new life. */
static void forks(void)
{
	signal(SIGCHLD, SIG_IGN);
	start_processes(cpus, in_chain);
}

static void yield(void)
{
	for (;;)
		sched_yield();
}

static void yields(void)
{
	start_processes(32, yield);
}

static void move_about(void)
{
	unsigned int random = getpid();
	cpu_set_t set;

	for (;;) {
		random = random * 1103515245 + 12345;
		CPU_ZERO(&set);
		CPU_SET((random >> 16) % cpus, &set);
		if (random >> 24 & 1)
			CPU_SET((random >> 8) % cpus, &set);
		sched_setaffinity(0, sizeof(set), &set);
		spin_ns(random >> 12);
	}
}

static void affinity(void)
{
	start_processes(8 * cpus, move_about);
}

/* A user may only make a weight smaller, so another child begins when the last one is at the end. */
static void get_nicer(void)
{
	for (;;) {
		if (!fork_or_die()) {
			while (nice(1) < 19)
				spin_ns(200000);
			_exit(0);
		}
		wait(NULL);
	}
}

static void nices(void)
{
	start_processes(16, get_nicer);
}

static void exec_again(void)
{
	execl("/proc/self/exe", "attack", "exec", NULL);
	_exit(1);
}

static void execs(void)
{
	start_processes(8, exec_again);
}

static void hog_as(uid_t user)
{
	must(!setgid(user) && !setuid(user), "setuid");
	spin();
}

/* Root starts them, as newuidmap does. */
static void users(void)
{
	for (int i = 0; i < scale / 10; i++)
		if (!fork_or_die())
			hog_as(FIRST_SUBORDINATE + i);
}

/* More cgroups than there are numbers for, and hogs in some of them */
static void flood(void)
{
	const int n = 4200;
	char path[128];

	write_file("+cpu", CGROUPS "attackers/cgroup.subtree_control");
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), CGROUPS "attackers/%d", i);
		must(!mkdir(path, 0755), path);
	}
	for (int i = 0; i < n; i += n / (4 * cpus))
		if (!fork_or_die()) {
			write_file("0", CGROUPS "attackers/%d/cgroup.procs", i);
			spin();
		}
}

static void rewrite(void)
{
	for (int weight = 1;; weight = weight % 10000 + 1) {
		char text[16];

		snprintf(text, sizeof(text), "%d", weight);
		write_file(text, CGROUPS "attackers/a/cpu.weight");
	}
}

/* A weight that many tasks have changes all the time. */
static void weights(void)
{
	must(!mkdir(CGROUPS "attackers/a", 0755), "mkdir");
	must(!mkdir(CGROUPS "attackers/b", 0755), "mkdir");
	write_file("+cpu", CGROUPS "attackers/cgroup.subtree_control");
	if (!fork_or_die()) {
		write_file("0", CGROUPS "attackers/b/cgroup.procs");
		rewrite();
	}
	write_file("0", CGROUPS "attackers/a/cgroup.procs");
	start_threads(scale / 4, spin);
}

static const struct attack {
	const char *name;
	void (*begin)(void);
	bool as_root, by_cgroups;
} attacks[] = {
	{ "filters", filters },
	{ "pool", pool },
	{ "threads", threads },
	{ "forks", forks },
	{ "yields", yields },
	{ "affinity", affinity },
	{ "nices", nices },
	{ "execs", execs },
	{ "users", users, .as_root = true },
	{ "flood", flood, .by_cgroups = true },
	{ "weights", weights, .by_cgroups = true },
};

/* ---- the run ---- */

static void start_attack(const struct attack *a)
{
	int ends[2];
	char byte;

	must(!pipe(ends), "pipe");
	if (fork_or_die()) {
		close(ends[1]);
		must(read(ends[0], &byte, 1) == 1, "the attack did not begin");
		close(ends[0]);
		return;
	}
	close(ends[0]);
	ready = ends[1];
	if (a->by_cgroups)
		delegate("attackers");
	else
		enter("attackers");
	if (!a->as_root)
		must(!setgid(ATTACKER) && !setuid(ATTACKER), "setuid");
	a->begin();
	must(write(ready, "", 1) == 1, "a pipe");
	sleep_for_good();
}

static void start_bystander(void)
{
	if (fork_or_die())
		return;
	enter("bystander");
	must(!setgid(BYSTANDER) && !setuid(BYSTANDER), "setuid");
	start_threads(cpus - 1, spin);
	spin();
}

static const struct attack *find(const char *name)
{
	for (size_t i = 0; i < sizeof(attacks) / sizeof(*attacks); i++)
		if (!strcmp(attacks[i].name, name))
			return &attacks[i];
	fprintf(stderr, "attack: no attack '%s'\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	struct rlimit many = { 100000, 100000 };
	long long from, to, attackers, bystander, dying_before;
	const struct attack *a;
	int settle_ms, measure_ms;

	if (argc == 2 && !strcmp(argv[1], "exec"))
		exec_again();
	if (argc != 5) {
		fputs("attack NAME SCALE SETTLE_MS MEASURE_MS\n", stderr);
		return 2;
	}
	a = find(argv[1]);
	scale = atoi(argv[2]);
	settle_ms = atoi(argv[3]);
	measure_ms = atoi(argv[4]);
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	dying_before = dying_cgroups();
	setrlimit(RLIMIT_NPROC, &many);
	write_file("100000", "/proc/sys/kernel/threads-max");
	must(!mkdir(CGROUPS "attackers", 0755), "mkdir");
	if (a->by_cgroups)
		write_file("+cpu", CGROUPS "cgroup.subtree_control");

	start_attack(a);
	must(!mkdir(CGROUPS "bystander", 0755), "mkdir");
	start_bystander();
	sleep_ms(settle_ms);
	from = now_ns();
	attackers = used_us("attackers");
	bystander = used_us("bystander");
	sleep_ms(measure_ms);
	attackers = used_us("attackers") - attackers;
	bystander = used_us("bystander") - bystander;
	to = now_ns();
	printf("{\"attackers_us\": %lld, \"bystander_us\": %lld, \"available_us\": %lld}\n", attackers, bystander,
	       (to - from) / 1000 * cpus);
	fflush(stdout);

	write_file("1", CGROUPS "bystander/cgroup.kill");
	write_file("1", CGROUPS "attackers/cgroup.kill");
	while (wait(NULL) > 0)
		;
	remove_cgroups("bystander");
	remove_cgroups("attackers");
	wait_until_freed(dying_before);
	return 0;
}
