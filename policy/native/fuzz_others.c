/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fuzzes policy/machine/others.h against an array that is searched from end to end: tasks with any keys and sets of CPUs come and go, and
 * for each CPU the first that may run there is found. fuzz_main.h has the arguments; modifiers mean nothing here.
 */
#define DIVVY_POLICY FUZZ_POLICY
#include "policy.h"
#include <stdbool.h>

static bool goes_on(void);
#undef can_loop
#define can_loop goes_on()

#include POLICY_HEADER
#include "machine.h"
#include "fuzz_main.h"

#define MUST(condition) ((condition) ? (void)0 : others_fail(__LINE__, #condition))

static _Noreturn void others_fail(int line, const char *condition)
{
	fprintf(stderr, "fuzz: not so: %s (fuzz_others.c:%d)\n", condition, line);
	abort();
}

/* No loop is longer than the tree is high. */
static u32 rounds;

static bool goes_on(void)
{
	MUST(rounds++ <= 4 * POOL);
	return true;
}

static struct machine machine;
static struct waits {
	bool in;
	u64 key, turn, cpus; /* of every word */
} waits[POOL];

static bool comes_before(const struct waits *a, const struct waits *b)
{
	return a->key != b->key ? (s64)(a->key - b->key) < 0 : a->turn < b->turn;
}

static u32 first_that_may(u32 cpu)
{
	u32 first = 0;

	for (u32 id = 1; id < POOL; id++)
		if (waits[id].in && waits[id].cpus >> (cpu % 64) & 1 &&
		    (!first || comes_before(&waits[id], &waits[first])))
			first = id;
	return first;
}

/* A set of CPUs does not change while its task waits. */
static void come(struct bytes *b, u32 id, u64 base, u64 turn)
{
	u32 few = next_byte(b);
	u64 cpus = few % 4 ? 1ull << few % 64 | 1ull << next_byte(b) % 64 : next_u32(b) << 32 | next_u32(b);

	waits[id] = (struct waits){ true, base + (few % 3 ? few % 8 : next_u32(b)), turn, cpus };
	machine.s.tasks.task[id].state |= PINNED;
	for (u32 i = 0; i < CPU_WORDS; i++)
		machine_allowed(&machine, id)[i] = cpus;
	others_insert(&machine, id, waits[id].key);
}

static bool fuzz_has_set(u32 modifiers)
{
	return !modifiers;
}

static void fuzz_case(const u8 *bytes, u64 n, u32 modifiers)
{
	struct bytes b = { bytes, n, 0 };
	u64 base = next_u32(&b) << 32 | next_u32(&b), turn = 0;

	(void)modifiers;
	memset(&machine, 0, sizeof(machine));
	memset(waits, 0, sizeof(waits));
	while (more_bytes(&b)) {
		u32 id = 1 + next_byte(&b) % (POOL - 1);

		rounds = 0;
		if (waits[id].in) {
			others_remove(&machine, id);
			waits[id].in = false;
		} else {
			come(&b, id, base, turn++);
		}
		MUST(pile_of(&machine.parked.piles, id) == (waits[id].in ? OTHERS : 0));
		for (u32 cpu = 0; cpu < MAX_CPUS; cpu += 1 + next_byte(&b) % 64) {
			rounds = 0;
			others_find(&machine, cpu);
			MUST(machine.at == first_that_may(cpu));
		}
	}
	fuzz_events += n;
}
