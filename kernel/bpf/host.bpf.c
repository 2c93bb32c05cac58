/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A sched_ext scheduler of any policy: maps the kernel's calls to the machine's events. Compiled once a policy, with
 * DIVVY_POLICY its name and POLICY_HEADER its header. Which modifiers and parameters it has is said at load.
 *
 *   kernel                                       machine
 *   init_task, exit_task                         new, exit
 *   enqueue                                      runnable if it was not, enqueue
 *   dequeue                                      dequeue
 *   dispatch                                     dispatch
 *   running                                      running
 *   stopping(runnable)                           stopping
 *   stopping(!runnable), quiescent(SLEEP)        stopping, quiescent
 *   stopping(!runnable), quiescent               stopping: the kernel changes an attribute, and puts it back
 *   yield, set_weight, set_cpumask               yield, set_weight, set_allowed
 *   cgroup_init, cgroup_set_weight               set_group
 *   cgroup_move                                  enter_group
 *   a tracepoint: exec                           set_program
 *
 * The machine is one object under one lock, as its policies choose from one queue. No kernel function may be called
 * under it, so a call tells its events, unlocks, and then does what the answers say. What can have happened
 * between, the kernel sees by itself: it takes a dispatch only of a task that is still as it was.
 *
 * A task's id, its index in the machine, is kept in p->scx.dsq_vtime, which is a scheduler's to use and of no other
 * use here: found with one load, and it cannot fail. A task has none (0) if the pool was full when it started; it
 * waits in the fallback DSQ, which gets its part of the turns. Kernel threads have none, and go first: the machine
 * depends on them, and a policy may let a task wait for as long as its paper says.
 *
 * A task in the machine's custody cannot be lost: it is reached by a reference that is taken when it is first
 * enqueued and kept until it exits.
 */
#include "kernel.h"
#define MACHINE_ENTITLED
#include POLICY_HEADER

/* Known to the verifier, which leaves out the code of other modifiers. The loader writes it. */
const volatile unsigned int modifiers_loaded SEC(".rodata.modifiers") = ~0u;
#define MODIFIERS_LOADED modifiers_loaded
#include "host.h"

/* Sections of their own: the loader maps them. */
const volatile struct host_config config SEC(".rodata.config") = { .sample = 0 };
struct host_stats stats SEC(".data.stats");
struct account accounts[POOL] SEC(".data.tasks");
struct host_exit exit_info SEC(".data.exit");

struct machine machine;
struct bpf_spin_lock lock SEC(".data.lock") __attribute__((visibility("hidden")));

/* What the host adds to a task; from `seen` on in its rq's lock, or when it runs. */
struct host_task {
	u32 holders;   /* of its id: itself, and the threads of the process that it stands for */
	u32 user;
	u64 weight;    /* as the kernel has it, or a command set it */
	bool seen;     /* was runnable before */
	bool held;     /* slots has it */
	bool interrupted; /* its turn, by a real-time task */
	u64 enqueued;  /* when, at last */
	u64 waits_from; /* when it began to wait for a CPU, enqueued again or not; 0 it does not */
	u64 ran;       /* p->se.sum_exec_runtime when it came on its CPU */
	u64 counted;   /* the same, until when its account has it */
	u64 turn_from; /* the same when its turn began */
	u64 wanted;    /* ns, how long its turn is to last */
	u64 turn;      /* the same, for an end at the nearest tick */
};

struct host_task host_tasks[POOL];
u32 free_ids[POOL];
u32 nfree;
u32 last_id;
u32 tasks_seen;
u32 free_groups[MAX_GROUPS];
u32 nfree_groups;
u32 last_group;

/* The groups of cgroups, by inode number, or of users, by number */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_GROUPS);
	__type(key, u64);
	__type(value, u32);
} groups SEC(".maps");

struct slot {
	struct task_struct __kptr *task;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, POOL);
	__type(key, u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LOG_BYTES);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_NAMES);
	__type(key, u64);
	__type(value, struct host_name);
} names SEC(".maps");

/* DSQs: one for tasks without an id, and one a CPU, by the kernel's number */
#define FALLBACK 1
#define DSQ_OF_CPU 1024

static __always_inline u32 id_of(const struct task_struct *p)
{
	return p->scx.dsq_vtime & POOL_MASK;
}

static __always_inline struct host_task *host_task(u32 id)
{
	return &host_tasks[id & POOL_MASK];
}

static __always_inline u32 machine_cpu(s32 cpu)
{
	return config.cpu[cpu & CPU_MASK];
}

/* ---- events ---- */

/* A wait for the lock cannot be timed while it is held: one of many is timed on an empty section before. */
static __always_inline void sample_lock(void)
{
	u64 start;

	if (!config.sample || stats.events & (config.sample - 1))
		return;
	start = bpf_ktime_get_ns();
	bpf_spin_lock(&lock);
	bpf_spin_unlock(&lock);
	__sync_fetch_and_add(&stats.lock_wait_ns, bpf_ktime_get_ns() - start);
	__sync_fetch_and_add(&stats.lock_samples, 1);
}

/* Under the lock */
static __always_inline void tell(enum event_kind kind, struct event *e)
{
	event_tell(&machine, kind, e);
	e->seq = ++stats.events;
}

/* Not under the lock: what was told, and answered */
static __always_inline void note(enum event_kind kind, const struct event *e, u64 value, u32 answer, u8 why)
{
	struct record *r;

	if (!config.log)
		return;
	r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&stats.dropped, 1);
		return;
	}
	r->now = e->now;
	r->value = value;
	r->seq = e->seq;
	r->id = e->id;
	r->answer = answer;
	r->cpu = e->cpu;
	r->kind = kind;
	r->why = why;
	/* The loader looks by itself every now and then: waking it for each record would be work to record. */
	bpf_ringbuf_submit(r, bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) > LOG_BYTES / 4 ? BPF_RB_FORCE_WAKEUP
												: BPF_RB_NO_WAKEUP);
	__sync_fetch_and_add(&stats.records, 1);
}

/* Asks a CPU of the machine to dispatch. */
static __always_inline void kick(u32 cpu)
{
	if (cpu == NO_CPU)
		return;
	scx_bpf_kick_cpu(config.kernel_cpu[cpu & CPU_MASK],
			 machine.s.tasks.picked[cpu & CPU_MASK] ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
	__sync_fetch_and_add(&stats.kicks, 1);
}

/* ---- ids and accounts ---- */

/* Under the lock: a free id, or 0. */
static __always_inline u32 take_id(void)
{
	tasks_seen++;
	if (config.fail_every && tasks_seen % config.fail_every == 0)
		return 0;
	if (nfree)
		return free_ids[--nfree & POOL_MASK];
	return last_id < config.pool ? ++last_id : 0;
}

/* Under the lock */
static __always_inline void let_go(u32 id)
{
	if (--host_task(id)->holders == 0)
		free_ids[nfree++ & POOL_MASK] = id;
}

static __always_inline void open_account(u32 id, const struct task_struct *p, const struct event *e)
{
	struct account *a = &accounts[id & POOL_MASK];

	a->received_ns = 0;
	a->entitled_ns = 0;
	a->waited_ns = 0;
	a->turns = a->waits = 0;
	a->weight = a->nominal = e->amount;
	a->process = e->process;
	a->tgid = p->tgid;
	a->pid = p->pid;
}

static __always_inline void settle_account(u32 id)
{
	struct account *a = &accounts[id & POOL_MASK];

	a->weight = weight_of(&machine.s.tasks, id);
	a->entitled_ns = machine.entitled.task[id & POOL_MASK].service;
}

/* Under the lock: what it received until its p->se.sum_exec_runtime was this. */
static __always_inline void count_service(u32 id, u64 sum_exec)
{
	accounts[id & POOL_MASK].received_ns += sum_exec - host_task(id)->counted;
	host_task(id)->counted = sum_exec;
}

/* Under the lock, when it comes on a CPU */
static __always_inline void count_turn(u32 id, u64 now)
{
	struct account *a = &accounts[id & POOL_MASK];
	struct host_task *t = host_task(id);

	a->turns++;
	if (!t->waits_from)
		return;
	a->waits++;
	a->waited_ns += now - t->waits_from;
	t->waits_from = 0;
}

/* The CPUs [from, from + 64) of the machine that the mask has */
static NOINLINE u64 allowed_word(const struct cpumask *mask, u32 from)
{
	u64 word = 0;

	for (u32 i = 0; i < 64 && from + i < config.config.ncpus && can_loop; i++)
		if (bpf_cpumask_test_cpu(config.kernel_cpu[(from + i) & CPU_MASK], mask))
			word |= 1ull << i;
	return word;
}

static __always_inline void note_allowed(struct event *e, u32 word, bool last)
{
	u32 kicked = e->cpu;

	e->cpu = word;
	note(EVENT_set_allowed, e, e->allowed.word[word], kicked, last);
	e->cpu = kicked;
}

static __always_inline void set_allowed(u32 id, const struct cpumask *mask)
{
	struct event e = { .id = id, .now = clock_ns() };

	e.allowed.word[0] = allowed_word(mask, 0);
	if (config.config.ncpus > 64) {
		e.allowed.word[1] = allowed_word(mask, 64);
		e.allowed.word[2] = allowed_word(mask, 128);
		e.allowed.word[3] = allowed_word(mask, 192);
	}
	bpf_spin_lock(&lock);
	tell(EVENT_set_allowed, &e);
	bpf_spin_unlock(&lock);
	kick(e.cpu);
	if (config.config.ncpus > 64) {
		note_allowed(&e, 3, false);
		note_allowed(&e, 2, false);
		note_allowed(&e, 1, false);
	}
	note_allowed(&e, 0, true);
}

/* ---- groups ---- */

/* Of a cgroup or a user; 0, the root, if it has none */
static __always_inline u32 group_of(u64 key)
{
	u32 *group = bpf_map_lookup_elem(&groups, &key);

	return group ? *group : ROOT;
}

/* What is not static the verifier looks at once, whatever comes before and after the calls: so here, where a task may or
 * may not be moved before something else is told. */

/* Under the lock: a free group, or ROOT. One that was freed while a task of it was still dying keeps its parent until that
 * is gone, and waits: with another one meanwhile groups could come to be within themselves. */
static __always_inline u32 take_group(void)
{
	u32 freed = free_groups[(nfree_groups - 1) & GROUP_MASK];

	if (nfree_groups && !machine.groups.group[freed & GROUP_MASK].k) {
		nfree_groups--;
		return freed;
	}
	return last_group < MAX_GROUPS - 1 ? ++last_group : ROOT;
}

/* A group of this key in a parent; ROOT if no more can be had, and its tasks are in the root then. */
NOINLINE u32 make_group(u64 key, u32 parent, u64 weight)
{
	struct event e = { .cpu = parent, .amount = weight, .now = clock_ns() };

	bpf_spin_lock(&lock);
	e.process = take_group();
	if (e.process)
		tell(EVENT_set_group, &e);
	bpf_spin_unlock(&lock);
	if (!e.process)
		return ROOT;
	note(EVENT_set_group, &e, e.amount, e.process, 0);
	if (bpf_map_update_elem(&groups, &key, &e.process, BPF_NOEXIST)) { /* another CPU was faster */
		bpf_spin_lock(&lock);
		free_groups[nfree_groups++ & GROUP_MASK] = e.process;
		bpf_spin_unlock(&lock);
		return group_of(key);
	}
	return e.process;
}

NOINLINE int enter_group(u32 id, u32 group)
{
	struct event e = { .id = id, .process = group, .now = clock_ns() };

	bpf_spin_lock(&lock);
	tell(EVENT_enter_group, &e);
	settle_account(id);
	bpf_spin_unlock(&lock);
	note(EVENT_enter_group, &e, 0, group, 0);
	return 0;
}

/* cpu.weight: 100 is nice 0. */
static __always_inline u64 cgroup_weight(u32 weight)
{
	return weight * WEIGHT_NICE_0 / 100;
}

/* Of a user, who weighs as nice 0 */
static __always_inline u32 group_of_user(u32 user)
{
	u64 key = user;
	u32 *group = bpf_map_lookup_elem(&groups, &key);

	return group ? *group : make_group(key, ROOT, WEIGHT_NICE_0);
}

static __always_inline u32 user_of(const struct task_struct *p)
{
	return p->real_cred->uid.val;
}

/* It may have become another user's: a login, a daemon. */
static __always_inline void follow_user(const struct task_struct *p, u32 id)
{
	u32 user = user_of(p);

	if (host_task(id)->user == user)
		return;
	host_task(id)->user = user;
	enter_group(id, group_of_user(user));
}

/* Told of all that there are when the scheduler is loaded, the outer ones first. */
SEC("struct_ops/cgroup_init")
s32 BPF_PROG(host_cgroup_init, struct cgroup *cgroup, struct scx_cgroup_init_args *args)
{
	struct cgroup_subsys_state *parent = cgroup->self.parent;

	if (config.cgroups && parent)
		make_group(cgroup->kn->id, group_of(parent->cgroup->kn->id), cgroup_weight(args->weight));
	return 0;
}

SEC("struct_ops/cgroup_set_weight")
void BPF_PROG(host_cgroup_set_weight, struct cgroup *cgroup, u32 weight)
{
	struct event e = { .amount = cgroup_weight(weight), .now = clock_ns() };

	if (!config.cgroups)
		return;
	e.process = group_of(cgroup->kn->id);
	if (!e.process)
		return;
	bpf_spin_lock(&lock);
	e.cpu = machine.groups.group[e.process & GROUP_MASK].parent;
	tell(EVENT_set_group, &e);
	bpf_spin_unlock(&lock);
	note(EVENT_set_group, &e, e.amount, e.process, 0);
}

/* It has no more tasks, but perhaps dead ones, which are not runnable. */
SEC("struct_ops/cgroup_exit")
void BPF_PROG(host_cgroup_exit, struct cgroup *cgroup)
{
	u64 key = cgroup->kn->id;
	u32 group = config.cgroups ? group_of(key) : ROOT;

	if (!group || bpf_map_delete_elem(&groups, &key))
		return;
	bpf_spin_lock(&lock);
	free_groups[nfree_groups++ & GROUP_MASK] = group;
	bpf_spin_unlock(&lock);
}

/* A task moved. */
SEC("struct_ops/cgroup_move")
void BPF_PROG(host_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	if (id_of(p) && config.cgroups)
		enter_group(id_of(p), group_of(to->kn->id));
}

/* ---- tasks come and go ---- */

/* Under the lock. The thread that stands for its process exists; if it has no id, each of its threads stands alone. */
static __always_inline u32 process_of(const struct task_struct *p, u32 id, u32 leader)
{
	if (!leader || p->pid == p->tgid)
		return id;
	return machine.s.tasks.task[leader & POOL_MASK].process;
}

SEC("struct_ops/init_task")
s32 BPF_PROG(host_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_struct *leader = p->group_leader;
	u32 leader_id = leader ? id_of(leader) : 0, group = ROOT;
	struct event e = { .amount = exact_weight(p), .now = clock_ns() };

	p->scx.dsq_vtime = 0;
	if (p->flags & PF_KTHREAD)
		return 0;
	if (config.cgroups && bpf_core_field_exists(args->cgroup))
		group = group_of(args->cgroup->kn->id);
	if (config.users)
		group = group_of_user(user_of(p));
	bpf_spin_lock(&lock);
	e.id = take_id();
	if (!e.id) {
		bpf_spin_unlock(&lock);
		__sync_fetch_and_add(&stats.without_id, 1); /* host_exit_task's is not under the lock */
		return 0;
	}
	e.process = process_of(p, e.id, leader_id);
	*host_task(e.id) = (struct host_task){ .holders = 1, .user = user_of(p), .weight = e.amount };
	host_task(e.process)->holders++;
	tell(EVENT_new, &e);
	stats.tasks++;
	open_account(e.id, p, &e);
	bpf_spin_unlock(&lock);

	p->scx.dsq_vtime = e.id;
	note(EVENT_new, &e, e.amount, e.process, 0);
	if (group)
		enter_group(e.id, group);
	if (!may_run_anywhere(p))
		set_allowed(e.id, p->cpus_ptr);
	return 0;
}

/* Under the lock: what it received since it came on its CPU. */
static __always_inline bool tell_stopping(struct event *e, const struct task_struct *p)
{
	if (!(machine_task(&machine, e->id)->state & ON_CPU))
		return false;
	e->amount = p->se.sum_exec_runtime - host_task(e->id)->ran;
	tell(EVENT_stopping, e);
	count_service(e->id, p->se.sum_exec_runtime);
	return true;
}

/* Its turn ends, or is interrupted, and it is still runnable. */
static __always_inline void off_cpu(const struct task_struct *p, u32 id)
{
	struct event e = { .id = id, .now = clock_ns() };
	bool stopped;

	bpf_spin_lock(&lock);
	stopped = tell_stopping(&e, p);
	if (stopped) {
		entitled_touch(&machine.entitled, &machine.s.tasks, id, e.now);
		settle_account(id);
	}
	bpf_spin_unlock(&lock);
	if (stopped)
		note(EVENT_stopping, &e, e.amount, 0, 0);
}

/* It goes to sleep, dies, or leaves for another scheduling class. */
static __always_inline void no_longer_runnable(struct task_struct *p, u32 id, enum why why)
{
	struct event stopping = { .id = id, .now = clock_ns() }, e = stopping;
	bool stopped;

	e.why = why;
	bpf_spin_lock(&lock);
	stopped = tell_stopping(&stopping, p);
	tell(EVENT_quiescent, &e);
	settle_account(id);
	accounts[id & POOL_MASK].runnable = false;
	host_task(id)->waits_from = 0;
	stats.runnable = machine.s.tasks.nrunnable;
	bpf_spin_unlock(&lock);
	if (stopped)
		note(EVENT_stopping, &stopping, stopping.amount, 0, 0);
	note(EVENT_quiescent, &e, 0, 0, why);
}

/* The reference by which it is dispatched */
static __always_inline void hold(struct task_struct *p, u32 id)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);
	struct task_struct *task;

	if (!slot)
		return;
	task = bpf_task_acquire(p);
	if (!task)
		return;
	task = bpf_kptr_xchg(&slot->task, task);
	if (task)
		bpf_task_release(task);
	host_task(id)->held = true;
}

static __always_inline void unhold(u32 id)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);
	struct task_struct *task;

	host_task(id)->held = false;
	if (!slot)
		return;
	task = bpf_kptr_xchg(&slot->task, NULL);
	if (task)
		bpf_task_release(task);
}

/* It leaves for another scheduling class; or this scheduler does. */
SEC("struct_ops/disable")
void BPF_PROG(host_disable, struct task_struct *p)
{
	u32 id = id_of(p);

	if (!id)
		return;
	no_longer_runnable(p, id, BLOCKED);
	unhold(id);
}

SEC("struct_ops/exit_task")
void BPF_PROG(host_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct event e = { .id = id_of(p), .now = clock_ns() };

	if (!e.id) {
		if (!(p->flags & PF_KTHREAD))
			__sync_fetch_and_sub(&stats.without_id, 1);
		return;
	}
	bpf_spin_lock(&lock);
	e.process = machine.s.tasks.task[e.id & POOL_MASK].process;
	tell(EVENT_exit, &e);
	accounts[e.id & POOL_MASK].pid = 0;
	stats.tasks--;
	let_go(e.process);
	let_go(e.id);
	bpf_spin_unlock(&lock);
	p->scx.dsq_vtime = 0;
	note(EVENT_exit, &e, 0, 0, 0);
}

static __always_inline void set_weight(u32 id)
{
	struct event e = { .id = id, .amount = host_task(id)->weight, .now = clock_ns() };

	bpf_spin_lock(&lock);
	tell(EVENT_set_weight, &e);
	accounts[id & POOL_MASK].nominal = e.amount;
	settle_account(id);
	bpf_spin_unlock(&lock);
	note(EVENT_set_weight, &e, e.amount, 0, 0);
}

SEC("struct_ops/set_weight")
void BPF_PROG(host_set_weight, struct task_struct *p, u32 rounded)
{
	u32 id = id_of(p);

	if (!id || host_task(id)->weight == exact_weight(p))
		return;
	host_task(id)->weight = exact_weight(p);
	set_weight(id);
}

SEC("struct_ops/set_cpumask")
void BPF_PROG(host_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	if (id_of(p))
		set_allowed(id_of(p), mask);
}

/* ---- programs ---- */

/* Of a command line, so many bytes count. */
#define ARGS_BYTES 4096

struct exec_scratch {
	u8 args[ARGS_BYTES];
	struct host_name name;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct exec_scratch);
} exec_scratches SEC(".maps");

static u64 hashed[MAX_CPUS];

/* FNV-1a, 64 bits, in words and then bytes */
static __always_inline u64 hash_word(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x100000001b3ull;
	return hash ^ hash >> 29;
}

static NOINLINE int hash_args(struct exec_scratch *x, u64 *hash, u32 n)
{
	for (u32 i = 0; i < n && i < ARGS_BYTES && can_loop; i++)
		*hash = hash_word(*hash, x->args[i & (ARGS_BYTES - 1)]);
	return 0;
}

/* The file, as it is, and the arguments: who executes the same again does the same. The arguments are in x afterwards. */
static __always_inline u64 identity_of(struct exec_scratch *x, const struct inode *inode, const struct mm_struct *mm,
				       u32 cpu)
{
	u64 *hash = &hashed[cpu & CPU_MASK], start = mm->arg_start, bytes = mm->arg_end - start;
	u32 n = bytes < ARGS_BYTES ? bytes : ARGS_BYTES;

	*hash = hash_word(0xcbf29ce484222325ull, inode->i_sb->s_dev);
	*hash = hash_word(*hash, inode->i_ino);
	*hash = hash_word(*hash, inode->i_size);
	if (bpf_core_field_exists(inode->i_mtime_sec))
		*hash = hash_word(*hash, inode->i_mtime_sec);
	if (bpf_probe_read_user(x->args, n, (void *)start))
		return 0;
	hash_args(x, hash, n);
	return *hash ?: 1;
}

/* Only where the modifier flow is on. It is of the task that executes; threads and children have no program. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(host_exec, struct task_struct *p, s32 old_pid, struct linux_binprm *bprm)
{
	struct event e = { .id = id_of(p), .now = clock_ns() };
	u32 zero = 0;
	struct exec_scratch *x = bpf_map_lookup_elem(&exec_scratches, &zero);

	if (!x || !e.id)
		return 0;
	e.amount = identity_of(x, bprm->file->f_inode, p->mm, bpf_get_smp_processor_id());
	if (e.amount && !bpf_map_lookup_elem(&names, &e.amount)) {
		bpf_probe_read_kernel(x->name.comm, sizeof(x->name.comm), p->comm);
		__builtin_memcpy(x->name.args, x->args, NAME_BYTES);
		x->name.bytes = p->mm->arg_end - p->mm->arg_start;
		bpf_map_update_elem(&names, &e.amount, &x->name, BPF_ANY);
	}
	bpf_spin_lock(&lock);
	tell(EVENT_set_program, &e);
	bpf_spin_unlock(&lock);
	note(EVENT_set_program, &e, e.amount, 0, 0);
	return 0;
}

/* ---- turns ---- */

/* Where it was. Choosing a CPU is the machine's, when the task is enqueued; asking here first would race with it. */
SEC("struct_ops/select_cpu")
s32 BPF_PROG(host_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	return prev_cpu;
}

static __always_inline void kernel_thread_first(struct task_struct *p, u64 enq_flags)
{
	u32 cpu = machine_cpu(scx_bpf_task_cpu(p));

	/* One that has used up its slice waits for the others here: two of them would leave nobody else the CPU. */
	if (enq_flags & SCX_ENQ_WAKEUP && machine.s.tasks.picked[cpu & CPU_MASK])
		enq_flags |= SCX_ENQ_PREEMPT;
	dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
	__sync_fetch_and_add(&stats.kernel_threads, 1);
}

static __always_inline void fall_back(struct task_struct *p, u64 enq_flags)
{
	__sync_fetch_and_add(&stats.fallbacks, 1); /* first: from then on CPUs look there */
	dsq_insert(p, FALLBACK, config.config.quantum, enq_flags);
	scx_bpf_kick_cpu(scx_bpf_task_cpu(p), enq_flags & SCX_ENQ_LAST ? 0 : SCX_KICK_IDLE);
}

/* The kernel hears of the next tasks only when a slice ends, and kernel threads that have used up theirs wait for it. */
#define LONGEST_SLICE_NS (100 * MS)

static __always_inline u64 slice_of(u64 turn)
{
	return turn < LONGEST_SLICE_NS ? turn : LONGEST_SLICE_NS;
}

/* What is left of its turn if that is not over: the kernel had changed an attribute of it, or a kernel thread went
 * first. 0 if it is over. */
static __always_inline u64 rest_of_turn(const struct task_struct *p, u32 id)
{
	const struct task *t = machine_task(&machine, id);
	u64 used = p->se.sum_exec_runtime - host_task(id)->turn_from;

	if ((t->state & (PICKED | PARKED)) != PICKED || t->cpu != machine_cpu(scx_bpf_task_cpu(p)))
		return 0;
	if (machine.why[t->cpu & CPU_MASK])
		return 0;
	return used < host_task(id)->turn ? host_task(id)->turn - used : 0;
}

SEC("struct_ops/enqueue")
void BPF_PROG(host_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct event runnable = { .id = id_of(p), .now = clock_ns() }, e = runnable;
	u32 id = e.id;
	struct host_task *t = host_task(id);
	bool woken;
	u64 rest;

	if (p->flags & PF_KTHREAD) {
		kernel_thread_first(p, enq_flags);
		return;
	}
	if (!t->held && id)
		hold(p, id);
	if (!id || !t->held) {
		fall_back(p, enq_flags);
		return;
	}
	if (config.users)
		follow_user(p, id);
	rest = rest_of_turn(p, id);
	/* Reenqueued, we are called from host_cpu_release: it may run elsewhere. */
	if (rest && enq_flags & SCX_ENQ_REENQ) {
		t->interrupted = true;
		rest = 0;
	}
	if (rest || is_migration_disabled(p, enq_flags & SCX_ENQ_REENQ ? 2 : 1)) {
		dsq_insert(p, SCX_DSQ_LOCAL, rest ? slice_of(rest) : config.config.quantum, enq_flags);
		__sync_fetch_and_add(rest ? &stats.kept : &stats.pinned, 1);
		return;
	}
	sample_lock();
	bpf_spin_lock(&lock);
	woken = !(machine_task(&machine, id)->state & RUNNABLE);
	if (woken) {
		runnable.why = t->seen ? WOKEN : NEW;
		tell(EVENT_runnable, &runnable);
		stats.wakes++;
		stats.runnable = machine.s.tasks.nrunnable;
		accounts[id & POOL_MASK].runnable = true;
	}
	tell(EVENT_enqueue, &e);
	t->enqueued = e.now;
	if (!t->waits_from)
		t->waits_from = e.now;
	bpf_spin_unlock(&lock);
	t->seen = true;
	kick(e.cpu);
	if (woken)
		note(EVENT_runnable, &runnable, 0, 0, runnable.why);
	note(EVENT_enqueue, &e, 0, 0, 0);
}

SEC("struct_ops/dequeue")
void BPF_PROG(host_dequeue, struct task_struct *p, u64 deq_flags)
{
	struct event e = { .id = id_of(p), .now = clock_ns() };

	if (!e.id)
		return;
	bpf_spin_lock(&lock);
	tell(EVENT_dequeue, &e);
	bpf_spin_unlock(&lock);
	note(EVENT_dequeue, &e, 0, 0, 0);
}

/* Tasks in the fallback DSQ get as many turns as so many tasks of the policy would: the first of them runs when
 * the others have had theirs. */
static u64 fallback_credit[MAX_CPUS];
/* Whether the DSQ of a CPU has a task that is to run there */
static u32 late_cpu[MAX_CPUS];

static __always_inline bool fallback_is_next(u32 cpu)
{
	s32 queued;
	u64 all;

	if (!stats.fallbacks)
		return false;
	queued = scx_bpf_dsq_nr_queued(FALLBACK);
	if (queued <= 0)
		return false;
	fallback_credit[cpu & CPU_MASK] += queued;
	all = queued + machine.s.tasks.nrunnable;
	if (fallback_credit[cpu & CPU_MASK] < all)
		return false;
	fallback_credit[cpu & CPU_MASK] %= all;
	return dsq_consume(FALLBACK);
}

/* The kernel looks at slices at its ticks, and ends a turn at the first tick after its slice. Of a slice that is half
 * a tick less it ends the turn at the tick that is nearest. */
static __always_inline u64 until_nearest_tick(u64 slice)
{
	u64 half = config.tick_ns / 2;

	return slice > half ? slice - half : 1;
}

/* Of a policy that counts turns: what the last turn was too short or too long by because it had to end at a tick, or
 * because a real-time task took the CPU. This turn is longer or shorter by that, so a task is never far from what its
 * turns add up to. A turn that ended otherwise was shorter by more than a tick, or by too little to matter. */
static __always_inline u64 carried(const struct host_task *t, u64 used)
{
#ifdef POLICY_COUNTS_SLICES
	s64 rest = t->wanted - used, most = t->interrupted ? LONGEST_SLICE_NS : config.tick_ns;

	return rest <= most && rest >= -(s64)config.tick_ns ? rest : 0;
#else
	return 0;
#endif
}

/* Returns the slice for the kernel. */
static __always_inline u64 begin_turn(const struct task_struct *p, const struct event *e)
{
	struct host_task *t = host_task(e->id);
	u64 ran = p->se.sum_exec_runtime;

	t->wanted = e->slice == SLICE_INF ? SLICE_INF : e->slice + carried(t, ran - t->turn_from);
	t->turn = t->wanted == SLICE_INF ? SLICE_INF : until_nearest_tick(t->wanted);
	t->turn_from = ran;
	t->interrupted = false;
	return slice_of(t->turn);
}

/*
 * Sends the task that was picked to this CPU. One that is on another CPU's queue goes through a DSQ of this CPU, from
 * where the kernel moves it if it can be moved. Sent directly, the kernel would throw the scheduler out if the task
 * cannot: a task that was just preempted can not for a moment, while its CPU runs a BPF program in its name.
 */
static __always_inline bool send(const struct event *e, s32 cpu, u32 *late)
{
	u32 id = e->id; /* that of e would have e in memory: 20 instructions */
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);
	struct task_struct *p = slot ? slot->task : NULL;
	u64 slice;

	if (!p) {
		__sync_fetch_and_add(&stats.missing, 1);
		return false;
	}
	slice = begin_turn(p, e);
	if (scx_bpf_task_cpu(p) == cpu) {
		dsq_insert(p, SCX_DSQ_LOCAL, slice, 0);
		return true;
	}
	dsq_insert(p, DSQ_OF_CPU + cpu, slice, 0);
	*late = !dsq_consume(DSQ_OF_CPU + cpu);
	if (*late)
		scx_bpf_kick_cpu(cpu, 0);
	return true;
}

/* Whether a task that was sent to this CPU before, and could not be moved at once, still keeps the CPU waiting. It may
 * have come now, or the kernel has taken it back and enqueues it again. */
static __always_inline bool is_expecting(s32 cpu, u32 *late)
{
	if (!*late)
		return false;
	__sync_fetch_and_add(&stats.late, 1);
	*late = 0;
	if (dsq_consume(DSQ_OF_CPU + cpu))
		return true;
	if (scx_bpf_dsq_nr_queued(DSQ_OF_CPU + cpu) <= 0)
		return false;
	*late = 1;
	scx_bpf_kick_cpu(cpu, 0);
	return true;
}

/* ---- patience ---- */

/*
 * A policy may let a task wait for longer than the kernel's watchdog permits, which then throws the scheduler out: a
 * weight of 15 beside many of 88761, or first come first served. So once a second those that have waited beyond
 * patience are noted, and their CPUs kicked; each gets a quantum out of turn. The machine is told that the task is
 * out of its custody for so long, and charges the quantum in the task's next turn: no share changes.
 */
#define SWEEP_NS 1000000000ull
#define MAX_OVERDUE 64

static u32 overdue[MAX_OVERDUE];
static u32 noverdue;
static u32 sweep_id;

struct sweep {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sweep);
} sweeps SEC(".maps");

static NOINLINE void find_overdue(u64 now)
{
	u64 patience = config.patience_ms * MS;

	for (sweep_id = 1; sweep_id <= last_id && noverdue < MAX_OVERDUE && can_loop; sweep_id++) {
		u64 since = host_task(sweep_id)->enqueued;

		if (!(machine_task(&machine, sweep_id)->state & CUSTODY) || since + patience > now)
			continue;
		overdue[noverdue % MAX_OVERDUE] = sweep_id;
		noverdue++;
	}
}

static NOINLINE void kick_all(void)
{
	for (u32 cpu = 0; cpu < config.config.ncpus && can_loop; cpu++)
		scx_bpf_kick_cpu(config.kernel_cpu[cpu & CPU_MASK], SCX_KICK_PREEMPT);
}

static int sweep(void *map, u32 *key, struct sweep *s)
{
	find_overdue(clock_ns());
	if (noverdue)
		kick_all();
	bpf_timer_start(&s->timer, SWEEP_NS, 0);
	return 0;
}

static __always_inline s32 start_sweeping(void)
{
	u32 zero = 0;
	struct sweep *s = bpf_map_lookup_elem(&sweeps, &zero);

	if (!s || !config.patience_ms)
		return 0;
	return bpf_timer_init(&s->timer, &sweeps, CLOCK_MONOTONIC) ?: bpf_timer_set_callback(&s->timer, sweep) ?:
	       bpf_timer_start(&s->timer, SWEEP_NS, 0);
}

/* The last that was noted, if it still waits and may run here; else it is left to the CPU where it may, which was
 * kicked as well. */
static __always_inline bool rescue(s32 kernel_cpu, u32 cpu, u32 *late)
{
	struct event e = { .now = clock_ns() };
	bool waits = false, here = false;

	bpf_spin_lock(&lock);
	if (noverdue) {
		e.id = overdue[(noverdue - 1) % MAX_OVERDUE];
		waits = machine_task(&machine, e.id)->state & CUSTODY;
		here = waits && machine_may_run(&machine, e.id, cpu);
		if (here || !waits)
			noverdue--;
	}
	if (here) {
		tell(EVENT_dequeue, &e);
		stats.rescues++;
	}
	bpf_spin_unlock(&lock);
	if (!here)
		return false;
	note(EVENT_dequeue, &e, 0, 0, 0);
	e.slice = config.config.quantum;
	return send(&e, kernel_cpu, late);
}

/* A turn that is longer than the longest slice takes another one. */
static __always_inline bool goes_on(struct task_struct *prev)
{
	u32 id = prev ? id_of(prev) : 0;
	u64 rest;

	if (!id || host_task(id)->turn <= LONGEST_SLICE_NS || !(prev->scx.flags & SCX_TASK_QUEUED))
		return false;
	rest = rest_of_turn(prev, id);
	if (rest)
		prev->scx.slice = slice_of(rest);
	return rest;
}

SEC("struct_ops/dispatch")
void BPF_PROG(host_dispatch, s32 kernel_cpu, struct task_struct *prev)
{
	struct event e = { .cpu = machine_cpu(kernel_cpu), .now = clock_ns() };
	u32 cpu = e.cpu, *late = &late_cpu[cpu & CPU_MASK];

	if (cpu == NO_CPU || is_expecting(kernel_cpu, late) || fallback_is_next(cpu))
		return;
	if (noverdue && rescue(kernel_cpu, cpu, late))
		return;
	if (goes_on(prev))
		return;
	sample_lock();
	bpf_spin_lock(&lock);
	tell(EVENT_dispatch, &e);
	stats.decisions = machine.decisions;
	stats.faults = machine.faults;
	bpf_spin_unlock(&lock);
	note(EVENT_dispatch, &e, e.slice, e.id, cpu);
	kick(e.cpu);
	if (!e.id) {
		if (stats.fallbacks)
			dsq_consume(FALLBACK);
	} else if (prev && id_of(prev) == e.id) {
		prev->scx.slice = begin_turn(prev, &e);
	} else if (!send(&e, kernel_cpu, late)) {
		scx_bpf_kick_cpu(kernel_cpu, 0);
	}
}

/* A task that runs while the scheduler is being loaded is not the machine's before it is enqueued. */
SEC("struct_ops/running")
void BPF_PROG(host_running, struct task_struct *p)
{
	struct event e = { .id = id_of(p), .now = clock_ns() };

	if (!e.id || !(machine_task(&machine, e.id)->state & RUNNABLE))
		return;
	host_task(e.id)->ran = host_task(e.id)->counted = p->se.sum_exec_runtime;
	bpf_spin_lock(&lock);
	tell(EVENT_running, &e);
	stats.switches++;
	count_turn(e.id, e.now);
	bpf_spin_unlock(&lock);
	note(EVENT_running, &e, 0, 0, 0);
}

/* If it is not runnable any more, quiescent follows, and does both. */
SEC("struct_ops/stopping")
void BPF_PROG(host_stopping, struct task_struct *p, bool runnable)
{
	if (runnable && id_of(p))
		off_cpu(p, id_of(p));
}

SEC("struct_ops/quiescent")
void BPF_PROG(host_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 id = id_of(p);

	if (!id)
		return;
	if (!(deq_flags & DEQ_SLEEP)) {
		/* The kernel changes an attribute of it: it is put back in a moment, and its turn is not over. */
		off_cpu(p, id);
		return;
	}
	no_longer_runnable(p, id, p->__state & TASK_DEAD ? EXITED : BLOCKED);
	if (p->flags & PF_EXITING)
		unhold(id);
}

SEC("struct_ops/yield")
bool BPF_PROG(host_yield, struct task_struct *from, struct task_struct *to)
{
	struct event e = { .id = id_of(from) }; /* of the machine's time: a clock is 45 instructions, and of no use here */

	if (to)
		return false;
	from->scx.slice = 0;
	if (!e.id)
		return false;
	e.cpu = machine_cpu(scx_bpf_task_cpu(from));
	bpf_spin_lock(&lock);
	tell(EVENT_yield, &e);
	bpf_spin_unlock(&lock);
	note(EVENT_yield, &e, 0, 0, 0);
	return false;
}

/* A real-time task took the CPU: what waits for it may run elsewhere. */
SEC("struct_ops/cpu_release")
void BPF_PROG(host_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	if (args->reason != SCX_CPU_PREEMPT_STOP && ksym_exists(scx_bpf_reenqueue_local))
		scx_bpf_reenqueue_local();
}

/* ---- the scheduler comes and goes ---- */

static NOINLINE s32 create_cpu_dsqs(void)
{
	s32 error = 0;

	for (u32 cpu = 0; cpu < config.config.ncpus && !error && can_loop; cpu++)
		error = scx_bpf_create_dsq(DSQ_OF_CPU + config.kernel_cpu[cpu & CPU_MASK], -1);
	return error;
}

SEC("struct_ops.s/init")
s32 BPF_PROG(host_init)
{
	s32 error = scx_bpf_create_dsq(FALLBACK, -1);

	bpf_spin_lock(&lock);
	config_init(&machine, &config.config);
	bpf_spin_unlock(&lock);
	return error ?: create_cpu_dsqs() ?: start_sweeping();
}

SEC("struct_ops/exit")
void BPF_PROG(host_exit, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(exit_info.reason, sizeof(exit_info.reason), info->reason);
	bpf_probe_read_kernel_str(exit_info.msg, sizeof(exit_info.msg), info->msg);
	bpf_probe_read_kernel_str(exit_info.dump, sizeof(exit_info.dump), info->dump);
	exit_info.code = info->exit_code;
	exit_info.kind = info->kind;
}

/* What the kernel prints when it throws the scheduler out */
SEC("struct_ops/dump")
void BPF_PROG(host_dump, struct scx_dump_ctx *dump)
{
	static char format[] = "divvy: %llu runnable, %llu decisions, %llu faults, %llu missing, %llu late\n";
	unsigned long long data[] = {
		machine.s.tasks.nrunnable, machine.decisions, machine.faults, stats.missing, stats.late,
	};

	if (ksym_exists(scx_bpf_dump_bstr))
		scx_bpf_dump_bstr(format, data, sizeof(data));
}

/* ---- commands ---- */

#define NO_SUCH_TASK 3 /* ESRCH */

static __always_inline u32 id_of_pid(u32 pid)
{
	struct task_struct *p = bpf_task_from_pid(pid);
	u32 id;

	if (!p)
		return 0;
	id = id_of(p);
	bpf_task_release(p);
	return id;
}

/* Until its nice value changes */
SEC("syscall")
int command_set_weight(struct host_command *c)
{
	u32 id = id_of_pid(c->pid);

	if (!id)
		return NO_SUCH_TASK;
	host_task(id)->weight = c->value;
	set_weight(id);
	return 0;
}

SEC("syscall")
int command_get_weight(struct host_command *c)
{
	u32 id = id_of_pid(c->pid);

	if (!id)
		return NO_SUCH_TASK;
	c->value = host_task(id)->weight;
	return 0;
}

SEC("syscall")
int command_set_param(struct host_command *c)
{
	struct event e = { .process = c->owner, .cpu = c->index, .amount = c->value, .now = clock_ns() };

	bpf_spin_lock(&lock);
	tell(EVENT_set_param, &e);
	bpf_spin_unlock(&lock);
	note(EVENT_set_param, &e, e.amount, e.process, 0);
	return 0;
}

/* Its p->se.sum_exec_runtime, as of the last tick if it runs; 0 if it is not that thread any more */
static NOINLINE u64 sum_exec_of(u32 id, u32 pid)
{
	u64 sum_exec = 0;
	struct task_struct *p;
	struct slot *slot = bpf_map_lookup_elem(&slots, &id);

	if (!slot)
		return 0;
	bpf_rcu_read_lock();
	p = slot->task;
	if (p && (u32)p->pid == pid)
		sum_exec = p->se.sum_exec_runtime;
	bpf_rcu_read_unlock();
	return sum_exec;
}

static NOINLINE int settle(u32 id)
{
	u32 pid = accounts[id & POOL_MASK].pid;
	u64 now = clock_ns(), sum_exec;

	if (!(machine_task(&machine, id)->state & RUNNABLE))
		return 0;
	sum_exec = sum_exec_of(id, pid);
	bpf_spin_lock(&lock);
	if (machine_task(&machine, id)->state & RUNNABLE && accounts[id & POOL_MASK].pid == pid) {
		entitled_touch(&machine.entitled, &machine.s.tasks, id, machine_now(&machine, now));
		settle_account(id);
		if (machine_task(&machine, id)->state & ON_CPU && (s64)(sum_exec - host_task(id)->counted) > 0)
			count_service(id, sum_exec);
	}
	bpf_spin_unlock(&lock);
	return 0;
}

static u32 settle_id;

/* Accounts are then those of this moment. A task that has a CPU for itself, or waits for one, may not stop for long. */
SEC("syscall")
int command_settle(struct host_command *c)
{
	for (settle_id = 1; settle_id <= last_id && can_loop; settle_id++)
		settle(settle_id);
	return 0;
}

SEC("syscall")
int command_learn(struct host_learn *c)
{
	struct event e = { .process = (u32)c->identity, .why = c->identity >> 32, .cpu = c->at, .amount = c->run,
			   .slice = c->wait };

	bpf_spin_lock(&lock);
	tell(EVENT_learn, &e);
	bpf_spin_unlock(&lock);
	e.id = e.why;
	note(EVENT_learn, &e, e.amount, e.process, 0);
	return 0;
}

SEC("syscall")
int command_program(struct host_program *c)
{
	u32 place;

	c->known = 0;
	if (!c->identity || !machine_has(&machine, FLOW))
		return 0;
	bpf_spin_lock(&lock);
	place = flow_find(&machine.flow, c->identity);
	if (place) {
		c->program = *flow_program(&machine.flow, place);
		/* The context is written at fixed places only. */
#pragma unroll
		for (u32 at = 0; at < FLOW_LENGTH; at++)
			c->entry[at] = *flow_entry(&machine.flow, place, at);
	}
	bpf_spin_unlock(&lock);
	c->known = place;
	return 0;
}

#define STRING_(x) #x
#define STRING(x) STRING_(x)

SEC(".struct_ops.link")
struct sched_ext_ops host_ops = {
	.select_cpu = (void *)host_select_cpu,
	.enqueue = (void *)host_enqueue,
	.dequeue = (void *)host_dequeue,
	.dispatch = (void *)host_dispatch,
	.running = (void *)host_running,
	.stopping = (void *)host_stopping,
	.quiescent = (void *)host_quiescent,
	.yield = (void *)host_yield,
	.set_weight = (void *)host_set_weight,
	.set_cpumask = (void *)host_set_cpumask,
	.cpu_release = (void *)host_cpu_release,
	.init_task = (void *)host_init_task,
	.exit_task = (void *)host_exit_task,
	.disable = (void *)host_disable,
	.cgroup_init = (void *)host_cgroup_init,
	.cgroup_set_weight = (void *)host_cgroup_set_weight,
	.cgroup_move = (void *)host_cgroup_move,
	.cgroup_exit = (void *)host_cgroup_exit,
	.dump = (void *)host_dump,
	.init = (void *)host_init,
	.exit = (void *)host_exit,
	.flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING,
	.exit_dump_len = EXIT_DUMP_LEN,
	.name = "divvy_" STRING(DIVVY_POLICY),
};

char _license[] SEC("license") = "Dual MIT/GPL";
