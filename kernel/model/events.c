/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "coroutine.h"
#include "cpu.h"
#include "events.h"

/* How far a CPU may be ahead of another in a race, and what a preemption point costs at least. */
#define RACE_WINDOW_NS 20000
#define STEP_NS 40

static struct happening *heap;
static u32 nheap, room;
static u64 orders;

/* Events that came while their CPU was busy, first in first out */
static struct happening pending[MAX_MODEL_CPUS][64];
static u32 npending[MAX_MODEL_CPUS];
static struct happening current[MAX_MODEL_CPUS];

static bool before(const struct happening *a, const struct happening *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void at(u64 at_ns, s32 cpu, void (*handle)(struct cpu *, void *), void *argument, u64 generation)
{
	struct happening new = { at_ns, ++orders, cpu, handle, argument, generation };
	u32 i;

	if (nheap == room) {
		room = room ? 2 * room : 1024;
		heap = realloc(heap, room * sizeof(*heap));
		if (!heap) {
			perror("no memory for events");
			exit(1);
		}
	}
	for (i = nheap++; i && before(&new, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = new;
}

static struct happening take_first(void)
{
	struct happening first = heap[0], last = heap[--nheap];
	u32 i = 0, child;

	while ((child = 2 * i + 1) < nheap) {
		if (child + 1 < nheap && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

u64 generation_here(void)
{
	return current[this_cpu->number].generation;
}

static void handle_interrupt(struct cpu *cpu, void *unused)
{
	struct happening *h = &current[cpu->number];

	h->handle(cpu, h->argument);
	leave_interrupt(cpu);
}

static struct cpu *any_cpu(void)
{
	struct cpu *cpu;

	do
		cpu = &cpus[next_random(&model.random) % model.ncpus];
	while (!cpu->is_online);
	return cpu;
}

static void start(struct happening *h)
{
	struct cpu *cpu = h->cpu >= 0 ? &cpus[h->cpu] : any_cpu();

	if (is_busy(cpu)) {
		u32 *n = &npending[cpu->number];

		if (*n == 64) { /* the interrupt is late */
			at(model.now + RACE_WINDOW_NS, cpu->number, h->handle, h->argument, h->generation);
			return;
		}
		pending[cpu->number][(*n)++] = *h;
		return;
	}
	current[cpu->number] = *h;
	begin(cpu, handle_interrupt, NULL);
}

static void start_pending(struct cpu *cpu)
{
	u32 *n = &npending[cpu->number];
	struct happening h;

	while (*n && !is_busy(cpu)) {
		h = pending[cpu->number][0];
		for (u32 i = 1; i < *n; i++)
			pending[cpu->number][i - 1] = pending[cpu->number][i];
		(*n)--;
		current[cpu->number] = h;
		begin(cpu, handle_interrupt, NULL);
	}
}

/* No busy CPU can go on: until one of those that stand still does, or the next event comes. Returns true. */
static bool pass_time(u32 busy)
{
	u64 next = ~0ull;

	for (u32 i = 0; i < model.ncpus; i++)
		if (still_until(&cpus[i]) > model.now && still_until(&cpus[i]) < next)
			next = still_until(&cpus[i]);
	if (next == ~0ull)
		scx_error("deadlock: %u CPUs wait for locks", busy);
	else
		model.now = nheap && heap[0].at_ns < next ? heap[0].at_ns : next;
	return true;
}

/* Goes on with one of the busy CPUs, or begins the next event although some are busy. Returns false if none is. */
static bool step_busy(void)
{
	struct cpu *able[MAX_MODEL_CPUS];
	u32 n = 0, busy = 0, chosen;
	bool may_begin = nheap && heap[0].at_ns <= model.now + RACE_WINDOW_NS;

	for (u32 i = 0; i < model.ncpus; i++) {
		busy += is_busy(&cpus[i]);
		if (can_resume(&cpus[i]))
			able[n++] = &cpus[i];
	}
	if (!busy)
		return false;
	if (!n && !may_begin)
		return pass_time(busy);
	chosen = next_random(&model.random) % (n + may_begin);
	if (chosen == n) {
		struct happening h = take_first();

		if (h.at_ns > model.now)
			model.now = h.at_ns;
		start(&h);
		return true;
	}
	model.now += STEP_NS;
	resume(able[chosen]);
	start_pending(able[chosen]);
	return true;
}

void run_on(struct cpu *cpu, void (*function)(struct cpu *, void *), void *argument)
{
	begin(cpu, function, argument);
	while (step_busy())
		;
}

bool run_before(u64 before_ns, bool (*is_enough)(void))
{
	while (!model.error[0]) {
		struct happening h;

		if (step_busy())
			continue;
		check_quiet();
		if (is_enough())
			return true;
		if (!nheap || heap[0].at_ns >= before_ns)
			break;
		h = take_first();
		if (h.at_ns > model.now)
			model.now = h.at_ns;
		start(&h);
		if (h.cpu >= 0)
			start_pending(&cpus[h.cpu]);
	}
	return false;
}

static bool never(void)
{
	return false;
}

void run_until(u64 end_ns)
{
	run_before(end_ns + 1, never);
	if (!model.error[0])
		model.now = end_ns;
}
