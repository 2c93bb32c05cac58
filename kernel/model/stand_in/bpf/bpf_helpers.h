/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stands for libbpf's header of this name where the BPF host is compiled for the model (../../model.h): the same names,
 * as ordinary C. Helpers are functions of the model (../../helpers.c).
 */
#ifndef MODEL_BPF_HELPERS_H
#define MODEL_BPF_HELPERS_H

#define SEC(name)
#define __ksym
#define __kptr
#define __weak __attribute__((weak))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#ifndef NULL
#define NULL ((void *)0)
#endif
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

struct bpf_spin_lock;
struct bpf_timer;
struct task_struct;

/* With the name of the function that takes the lock */
#define bpf_spin_lock(lock) bpf_spin_lock_in(lock, __func__)
void bpf_spin_lock_in(struct bpf_spin_lock *lock, const char *function);
void bpf_spin_unlock(struct bpf_spin_lock *lock);
__u64 bpf_ktime_get_ns(void);
__u64 bpf_jiffies64(void);
__u32 bpf_get_smp_processor_id(void);
struct task_struct *bpf_get_current_task_btf(void);

void *bpf_map_lookup_elem(void *map, const void *key);
long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags);
long bpf_map_delete_elem(void *map, const void *key);
void *bpf_kptr_xchg(void *place, void *value);

void *bpf_ringbuf_reserve(void *ring, __u64 size, __u64 flags);
void bpf_ringbuf_submit(void *record, __u64 flags);
__u64 bpf_ringbuf_query(void *ring, __u64 what);

long bpf_timer_init(struct bpf_timer *timer, void *map, __u64 flags);
long bpf_timer_set_callback(struct bpf_timer *timer, void *callback);
long bpf_timer_start(struct bpf_timer *timer, __u64 ns, __u64 flags);

long bpf_probe_read_kernel(void *to, __u32 size, const void *from);
long bpf_probe_read_user(void *to, __u32 size, const void *from);
long bpf_probe_read_kernel_str(void *to, __u32 size, const void *from);

#endif
