/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fuzzes policy/lib/eligible.h against an array that is searched from end to end, with TREE_BY_MINOR as it is or 0.
 * fuzz_main.h has the arguments; modifiers mean nothing here.
 */
#include "base.h"
#include <stdbool.h>

static bool goes_on(void);
#undef can_loop
#define can_loop goes_on()

#include "lib/eligible.h"
#include "fuzz_main.h"

#define MUST(condition) ((condition) ? (void)0 : eligible_fail(__LINE__, #condition))

static _Noreturn void eligible_fail(int line, const char *condition)
{
	fprintf(stderr, "fuzz: not so: %s (fuzz_eligible.c:%d)\n", condition, line);
	abort();
}

/* No loop is longer than the tree is high. */
static u32 rounds;

static bool goes_on(void)
{
	MUST(rounds++ <= POOL);
	return true;
}

static struct eligible eligible;
static struct {
	bool in;
	u64 S, F; /* less the bases, so that they do not wrap */
	u64 turn; /* when it came; if V never decreases, when it was found to have started */
} waits[POOL];

/* Whether a comes before b: by F, among equal ones by S or not; the rest is the order in which they came. */
static bool due_before(u32 a, u32 b)
{
	if (waits[a].F != waits[b].F)
		return waits[a].F < waits[b].F;
	if (TREE_BY_MINOR && waits[a].S != waits[b].S)
		return waits[a].S < waits[b].S;
	return waits[a].turn < waits[b].turn;
}

static bool starts_before(u32 a, u32 b)
{
	return waits[a].S != waits[b].S ? waits[a].S < waits[b].S : waits[a].turn < waits[b].turn;
}

static u32 first_that_waits(u64 V)
{
	u32 due = 0, early = 0;

	for (u32 id = 1; id < POOL; id++) {
		if (!waits[id].in)
			continue;
		if (waits[id].S <= V && (!due || due_before(id, due)))
			due = id;
		if (!early || starts_before(id, early))
			early = id;
	}
	return due ? due : early;
}

/* Half of them so that the times soon wrap around */
static u64 next_base(struct bytes *b)
{
	return next_byte(b) % 2 ? ~0ull - next_byte(b) % 32 : next_u32(b);
}

static u32 first_at(u64 V)
{
	rounds = 0;
	return eligible_first(&eligible, V);
}

/* V goes anywhere. */
static void fuzz_any_time(struct bytes *b)
{
	u64 S0 = next_base(b), F0 = next_base(b), turn = 0;

	memset(&eligible, 0, sizeof(eligible));
	memset(waits, 0, sizeof(waits));
	while (more_bytes(b)) {
		u32 id = 1 + next_byte(b) % (POOL - 1), few = next_byte(b);
		u64 V = few % 2 ? next_byte(b) % 64 : next_u32(b);

		rounds = 0;
		MUST(eligible_holds(&eligible, id) == waits[id].in);
		if (waits[id].in) {
			eligible_remove(&eligible, id);
			waits[id].in = false;
		} else {
			waits[id].in = true;
			waits[id].S = few < 128 ? few % 64 : next_u32(b);
			waits[id].F = few % 3 ? few % 8 : next_u32(b);
			waits[id].turn = turn++;
			eligible_insert(&eligible, id, S0 + waits[id].S, F0 + waits[id].F);
		}
		MUST(first_at(S0 + V) == first_that_waits(V));
	}
}

/* Times anywhere, as a hostile log can bring them about: nobody can say then who is first. A search ends, and names one that waits. */
static void fuzz_far(struct bytes *b)
{
	u32 n = 0;

	memset(&eligible, 0, sizeof(eligible));
	memset(waits, 0, sizeof(waits));
	while (more_bytes(b)) {
		u32 id = 1 + next_byte(b) % (POOL - 1), found;

		rounds = 0;
		n += waits[id].in ? -1 : 1;
		if (waits[id].in)
			eligible_remove(&eligible, id);
		else
			eligible_insert(&eligible, id, next_u32(b) << 32, next_u32(b) << 32);
		waits[id].in = !waits[id].in;
		found = first_at(next_u32(b) << 32);
		MUST(n ? waits[found & POOL_MASK].in : !found);
	}
}

/* ---- in turn: those that have started are in a line, as they were found to have, whatever their S ---- */

static u32 line[POOL], length;

static void line_up(u32 id)
{
	line[length++] = id;
}

static void leave_line(u32 id)
{
	u32 at = 0;

	while (at < length && line[at] != id)
		at++;
	if (at < length)
		memmove(line + at, line + at + 1, (--length - at) * sizeof(*line));
}

static bool in_line(u32 id)
{
	for (u32 at = 0; at < length; at++)
		if (line[at] == id)
			return true;
	return false;
}

/* Lines up all that have started by V, the earliest first, and names the first one of the least F. */
static u32 first_in_line(u64 V)
{
	u32 first = 0;

	for (;;) {
		u32 next = 0;

		for (u32 id = 1; id < POOL; id++)
			if (waits[id].in && waits[id].S <= V && !in_line(id) && (!next || starts_before(id, next)))
				next = id;
		if (!next)
			break;
		line_up(next);
	}
	for (u32 at = 0; at < length; at++)
		if (!first || waits[line[at]].F < waits[first].F)
			first = line[at];
	return first ? first : first_that_waits(V);
}

/* V never decreases, and it is not looked at whenever it has grown. */
static void fuzz_in_turn(struct bytes *b)
{
	u64 S0 = next_base(b), F0 = next_base(b), V = 0, turn = 0;

	memset(&eligible, 0, sizeof(eligible));
	memset(waits, 0, sizeof(waits));
	length = 0;
	first_at(S0); /* V is a time from now on. */
	while (more_bytes(b)) {
		u32 id = 1 + next_byte(b) % (POOL - 1), few = next_byte(b);

		rounds = 0;
		V += few % 4 ? 0 : few / 4 % 4;
		if (waits[id].in) {
			eligible_remove(&eligible, id);
			leave_line(id);
			waits[id].in = false;
		} else {
			waits[id].in = true;
			waits[id].S = V + next_byte(b) % 16 - 8;
			if ((s64)waits[id].S < 0)
				waits[id].S = 0;
			waits[id].F = few % 4;
			waits[id].turn = turn++;
			eligible_insert_in_turn(&eligible, id, S0 + waits[id].S, F0 + waits[id].F, S0 + V);
			if (waits[id].S <= V)
				line_up(id);
		}
		if (few % 3)
			MUST(first_at(S0 + V) == first_in_line(V));
	}
}

static bool fuzz_has_set(u32 modifiers)
{
	return !modifiers;
}

static void fuzz_case(const u8 *bytes, u64 n, u32 modifiers)
{
	struct bytes b = { bytes, n, 0 }, c = b, d = b;

	(void)modifiers;
	fuzz_any_time(&b);
	fuzz_far(&d);
	if (TREE_BY_MINOR)
		fuzz_in_turn(&c);
	fuzz_events += n;
}
