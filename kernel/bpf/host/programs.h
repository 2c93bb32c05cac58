/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Programs, for the modifier flow, which knows how long a program ran the last time, and for rules: a tracepoint tells
 * which program a task executes. A program's identity is a hash of its file and its arguments. The map `names` keeps
 * command lines for people.
 *
 * The scratch buffers belong to a CPU. The lock is held only to tell the event.
 */
#ifndef DIVVY_HOST_PROGRAMS_H
#define DIVVY_HOST_PROGRAMS_H

#include "host/decision_log.h"
#include "host/events.h"
#include "host/task_rules.h"
#include "host/tasks.h"

/* The bytes of a command line that count */
#define ARGS_BYTES 4096

struct exec_scratch {
	u8 args[ARGS_BYTES];
	u32 at; /* of hash_args */
	struct host_name name;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct exec_scratch);
} exec_scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_NAMES);
	__type(key, u64);
	__type(value, struct host_name);
} names SEC(".maps");

static u64 hashed[MAX_CPUS];

/* FNV-1a with 64 bits and a shift, first over words, then over bytes */
static __always_inline u64 hash_word(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x100000001b3ull;
	return hash ^ hash >> 29;
}

/* The index is in memory, of which the verifier knows nothing. It would follow a variable through all 4,096 rounds. */
static NOINLINE int hash_args(struct exec_scratch *x, u64 *hash, u32 n)
{
	for (x->at = 0; x->at < n && can_loop; x->at++)
		*hash = hash_word(*hash, x->args[x->at & (ARGS_BYTES - 1)]);
	return 0;
}

/* The same file with the same arguments is expected to do the same again. Returns 0 if the arguments cannot be read;
 * otherwise they are in x. */
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

/* Loaded only with the modifier flow. The program belongs to the task that executes it; its later threads and children
 * have none. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(host_exec, struct task_struct *p, s32 old_pid, struct linux_binprm *bprm)
{
	struct event e = { .id = id_of(p), .now = clock_ns() };
	u32 zero = 0, shard = shard_of(e.id);
	struct bpf_spin_lock *lock;
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
	lock = lock_of(shard);
	if (!lock)
		return 0;
	bpf_spin_lock(lock);
	tell(shard, EVENT_set_program, &e);
	bpf_spin_unlock(lock);
	log_event(shard, EVENT_set_program, &e, e.amount, 0, 0);
	return 0;
}

/* Loaded only with rules. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(host_exec_rule, struct task_struct *p, s32 old_pid, struct linux_binprm *bprm)
{
	u32 id = living_id(p);

	if (id)
		follow_rule(id, weight_by_rules(p, bprm->file->f_inode));
	return 0;
}

#endif
