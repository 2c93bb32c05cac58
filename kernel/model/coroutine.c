/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "coroutine.h"

#define STACK_BYTES (256 << 10)

struct cpu *this_cpu;

static struct coroutine {
	ucontext_t context;
	void *stack;
	void (*entry)(struct cpu *, void *);
	void *argument;
	bool is_busy;
	struct lock *waits_for;
	u64 still_until; /* it stands still, as a virtual CPU does whose host runs something else */
} coroutines[MAX_MODEL_CPUS];

static ucontext_t main_loop;

static struct coroutine *of(const struct cpu *cpu)
{
	return &coroutines[cpu->number];
}

static void run_entries(void)
{
	struct coroutine *c = of(this_cpu);

	for (;;) {
		c->entry(this_cpu, c->argument);
		c->is_busy = false;
		suspend();
	}
}

void begin(struct cpu *cpu, void (*entry)(struct cpu *, void *), void *argument)
{
	struct coroutine *c = of(cpu);

	if (!c->stack) {
		c->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (c->stack == MAP_FAILED) {
			perror("no memory for a stack");
			exit(1);
		}
		getcontext(&c->context);
		c->context.uc_stack.ss_sp = c->stack;
		c->context.uc_stack.ss_size = STACK_BYTES;
		makecontext(&c->context, run_entries, 0);
	}
	c->entry = entry;
	c->argument = argument;
	c->is_busy = true;
	resume(cpu);
}

void resume(struct cpu *cpu)
{
	this_cpu = cpu;
	swapcontext(&main_loop, &of(cpu)->context);
	this_cpu = NULL;
}

void suspend(void)
{
	swapcontext(&of(this_cpu)->context, &main_loop);
}

bool is_busy(const struct cpu *cpu)
{
	return of(cpu)->is_busy;
}

bool is_on_stack(const struct cpu *cpu, const void *address)
{
	const char *stack = of(cpu)->stack, *at = address;

	return at >= stack && at < stack + STACK_BYTES;
}

bool can_resume(const struct cpu *cpu)
{
	const struct coroutine *c = of(cpu);

	return c->is_busy && c->still_until <= model.now && (!c->waits_for || !c->waits_for->holder);
}

u64 still_until(const struct cpu *cpu)
{
	return is_busy(cpu) ? of(cpu)->still_until : 0;
}

void may_switch(void)
{
	if (!this_cpu || !model.race_in || next_random(&model.random) % model.race_in)
		return;
	if (model.still_in && model.is_loaded && !model.is_bypassed && next_random(&model.random) % model.still_in == 0)
		of(this_cpu)->still_until = model.now + next_random(&model.random) % model.longest_still_ns;
	suspend();
}

void spin_lock(struct lock *lock)
{
	may_switch();
	while (lock->holder) {
		if (lock->holder == this_cpu) {
			scx_error("CPU %d takes a lock that it holds", this_cpu->number);
			return;
		}
		of(this_cpu)->waits_for = lock;
		suspend();
		of(this_cpu)->waits_for = NULL;
	}
	lock->holder = this_cpu;
}

void spin_unlock(struct lock *lock)
{
	if (lock->holder == this_cpu)
		lock->holder = NULL;
	may_switch();
}
