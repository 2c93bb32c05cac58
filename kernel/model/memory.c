/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The host is compiled with -fsanitize=thread, and this stands in for the sanitizer's library: before each access to memory that
 * CPUs share, another CPU may go on first. Under the lock none may; nor before an access to the CPU's own stack. Accesses under
 * the lock are counted: the number says how long the other CPUs wait.
 */
#include "coroutine.h"
#include "host_model.h"

/* There are many accesses, so a switch is rarer than at a lock. */
#define RARER 8

static void before_access(const void *address)
{
	if (!this_cpu)
		return;
	if (holds_bpf_lock()) {
		count_access_under_lock();
		return;
	}
	if (!model.race_in || is_on_stack(this_cpu, address))
		return;
	if (next_random(&model.random) % RARER == 0)
		may_switch();
}

static bool is_field(const void *address, size_t field)
{
	size_t at = (size_t)((const char *)address - (const char *)tasks);

	return (const char *)address >= (const char *)tasks && at < sizeof(tasks) && at % sizeof(*tasks) == field;
}

/* Newer kernels are going to refuse programs that write these fields. */
static void before_write(const void *address)
{
	if (MODEL_NEWER && (is_field(address, offsetof(struct model_task, t.scx.slice)) ||
			    is_field(address, offsetof(struct model_task, t.scx.dsq_vtime))))
		scx_error("the host writes a field that the kernel has a function for");
	before_access(address);
}

/* The compiler calls these names. */
#define ACCESS_BY(check, name) \
	void name(void *address); \
	void name(void *address) \
	{ \
		check(address); \
	}
#define ACCESS(name) ACCESS_BY(before_access, name)
#define ACCESS_TO_WRITE(name) ACCESS_BY(before_write, name)
ACCESS(__tsan_read1)
ACCESS(__tsan_read2)
ACCESS(__tsan_read4)
ACCESS(__tsan_read8)
ACCESS(__tsan_read16)
ACCESS_TO_WRITE(__tsan_write1)
ACCESS_TO_WRITE(__tsan_write2)
ACCESS_TO_WRITE(__tsan_write4)
ACCESS_TO_WRITE(__tsan_write8)
ACCESS_TO_WRITE(__tsan_write16)
ACCESS(__tsan_unaligned_read2)
ACCESS(__tsan_unaligned_read4)
ACCESS(__tsan_unaligned_read8)
ACCESS_TO_WRITE(__tsan_unaligned_write2)
ACCESS_TO_WRITE(__tsan_unaligned_write4)
ACCESS_TO_WRITE(__tsan_unaligned_write8)

#define RANGE(name) \
	void name(void *address, unsigned long bytes); \
	void name(void *address, unsigned long bytes) \
	{ \
		before_access(address); \
	}
RANGE(__tsan_read_range)
RANGE(__tsan_write_range)

#define ATOMIC(bits, name, result) \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *address, uint##bits##_t value, \
						    int order); \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *address, uint##bits##_t value, int order) \
	{ \
		uint##bits##_t was; \
\
		before_access((const void *)address); \
		was = *address; \
		*address = result; \
		return was; \
	}
ATOMIC(32, fetch_add, was + value)
ATOMIC(32, fetch_sub, was - value)
ATOMIC(64, fetch_add, was + value)
ATOMIC(64, fetch_sub, was - value)
ATOMIC(32, exchange, value)

void __tsan_init(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
}
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}
