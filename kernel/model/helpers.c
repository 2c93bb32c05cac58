/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* BPF helpers, and maps by their address. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "class.h"
#include "coroutine.h"
#include "cpu.h"
#include "events.h"
#include "host_model.h"

/* ---- locks, clocks ---- */

/* One for all is enough, and no CPU may hold two: nothing happens on other CPUs while one is held. */
static struct lock bpf_lock;
static const struct bpf_spin_lock *held;

static struct hold hold;
struct hold longest_hold;

void bpf_spin_lock_in(struct bpf_spin_lock *lock, const char *function)
{
	if (holds_bpf_lock())
		scx_error("%s takes a lock while it holds one", function);
	spin_lock(&bpf_lock);
	held = lock;
	hold = (struct hold){ .in = function };
}

void bpf_spin_unlock(struct bpf_spin_lock *lock)
{
	if (lock != held)
		scx_error("another lock is released than the one that is held");
	if (hold.accesses > longest_hold.accesses)
		longest_hold = hold;
	spin_unlock(&bpf_lock);
}

void count_access_under_lock(void)
{
	hold.accesses++;
}

bool holds_bpf_lock(void)
{
	return bpf_lock.holder && bpf_lock.holder == this_cpu;
}

/* No helper and no kfunc may be called under the lock. */
static void check_unlocked(const char *name)
{
	if (holds_bpf_lock())
		scx_error("%s is called under the lock", name);
}

u64 bpf_ktime_get_ns(void)
{
	check_unlocked("bpf_ktime_get_ns");
	check_move();
	may_switch();
	return model.now;
}

u64 bpf_jiffies64(void)
{
	return model.now / model.tick_ns;
}

u32 bpf_get_smp_processor_id(void)
{
	return (u32)this_cpu->number;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return &this_cpu->current->t;
}

/* ---- maps ---- */

/* No user can make an op look up more than this. */
#define MOST_LOOKUPS 16
/* Several shards' locks are in a map: each weight that is passed on needs one, or two if its task moves; and a CPU that finds nothing may look into
 * each shard. */
#define MOST_LOOKUPS_OF_SHARDS (32 + host_most_shards())

struct hash_entry {
	u64 key;
	bool is_used;
	char value[];
};

static struct hash_entry *entry(struct map *map, u32 i)
{
	return (struct hash_entry *)(map->data + (size_t)i * (sizeof(struct hash_entry) + map->value_bytes));
}

static struct map *find_map(void *address)
{
	for (struct map *map = host_maps; map->address; map++) {
		if (map->address != address)
			continue;
		if (!map->data)
			map->data =
				calloc(map->entries, map->value_bytes + (map->is_hash ? sizeof(struct hash_entry) : 0));
		if (!map->data) {
			perror("no memory for a map");
			exit(1);
		}
		return map;
	}
	fprintf(stderr, "the host uses a map that host.c does not know\n");
	exit(1);
}

static struct hash_entry *find_entry(struct map *map, u64 key)
{
	for (u32 i = 0; i < map->entries; i++)
		if (entry(map, i)->is_used && entry(map, i)->key == key)
			return entry(map, i);
	return NULL;
}

void *bpf_map_lookup_elem(void *address, const void *key)
{
	u32 index, most = host_most_shards() > 1 ? MOST_LOOKUPS_OF_SHARDS : MOST_LOOKUPS;
	struct map *map = find_map(address);
	struct hash_entry *found;

	check_unlocked("bpf_map_lookup_elem");
	if (++this_cpu->lookups > most)
		scx_error("an op looks up more than %u times", most);
	may_switch();
	if (!map->is_hash) {
		memcpy(&index, key, sizeof(index));
		return index < map->entries ? map->data + (size_t)index * map->value_bytes : NULL;
	}
	found = find_entry(map, *(const u64 *)key);
	return found ? found->value : NULL;
}

long bpf_map_update_elem(void *address, const void *key, const void *value, u64 flags)
{
	struct map *map = find_map(address);
	struct hash_entry *found;

	check_unlocked("bpf_map_update_elem");
	may_switch();
	found = find_entry(map, *(const u64 *)key);
	if (found && flags == BPF_NOEXIST)
		return -17;
	for (u32 i = 0; !found && i < map->entries; i++)
		if (!entry(map, i)->is_used)
			found = entry(map, i);
	if (!found)
		return -7;
	found->key = *(const u64 *)key;
	found->is_used = true;
	memcpy(found->value, value, map->value_bytes);
	return 0;
}

long bpf_map_delete_elem(void *address, const void *key)
{
	struct hash_entry *found;

	check_unlocked("bpf_map_delete_elem");
	may_switch();
	found = find_entry(find_map(address), *(const u64 *)key);
	if (!found)
		return -2;
	found->is_used = false;
	return 0;
}

bool next_value(void *address, u32 *i, void *value)
{
	struct map *map = find_map(address);

	while (*i < map->entries) {
		struct hash_entry *e = entry(map, (*i)++);

		if (e->is_used) {
			memcpy(value, e->value, map->value_bytes);
			return true;
		}
	}
	return false;
}

void *bpf_kptr_xchg(void *place, void *value)
{
	void *was;

	check_unlocked("bpf_kptr_xchg");
	may_switch();
	was = *(void **)place;
	*(void **)place = value;
	return was;
}

/* ---- the ring buffer: a file, or nobody reads ---- */

static char record[64];
FILE *decision_log;

void *bpf_ringbuf_reserve(void *ring, u64 size, u64 flags)
{
	check_unlocked("bpf_ringbuf_reserve");
	return decision_log && size <= sizeof(record) ? record : NULL;
}

void bpf_ringbuf_submit(void *data, u64 flags)
{
	fwrite(data, 32, 1, decision_log);
	may_switch();
}

u64 bpf_ringbuf_query(void *ring, u64 what)
{
	return 0;
}

/* ---- timers ---- */

#define MOST_TIMERS 4

static struct timer {
	int (*callback)(void *map, u32 *key, void *value);
	void *map, *value;
	u64 starts; /* only the last one counts */
} timers[MOST_TIMERS];

static struct timer *find_timer(const void *value)
{
	struct timer *t = timers;

	while (t->value && t->value != value)
		if (++t == timers + MOST_TIMERS) {
			fprintf(stderr, "the host has more timers than helpers.c\n");
			exit(1);
		}
	return t;
}

static void timer_handler(struct cpu *cpu, void *argument)
{
	struct timer *t = argument;
	u32 key = (u32)(t - timers);

	if (!model.is_loaded || t->starts != generation_here())
		return;
	enter_op();
	t->callback(t->map, &key, t->value);
	leave_op();
}

long bpf_timer_init(struct bpf_timer *value, void *map, u64 flags)
{
	struct timer *t = find_timer(value);

	t->map = map;
	t->value = value;
	return 0;
}

long bpf_timer_set_callback(struct bpf_timer *value, void *callback)
{
	find_timer(value)->callback = callback;
	return 0;
}

long bpf_timer_start(struct bpf_timer *value, u64 ns, u64 flags)
{
	struct timer *t = find_timer(value);

	at(model.now + ns, this_cpu->number, timer_handler, t, ++t->starts);
	return 0;
}

/* ---- reads ---- */

long bpf_probe_read_kernel(void *to, u32 size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

long bpf_probe_read_user(void *to, u32 size, const void *from)
{
	if (!from)
		return -14;
	memcpy(to, from, size);
	return 0;
}

long bpf_probe_read_kernel_str(void *to, u32 size, const void *from)
{
	if (!size)
		return -22;
	strncpy(to, from, size - 1);
	((char *)to)[size - 1] = '\0';
	return (long)strlen(to) + 1;
}
