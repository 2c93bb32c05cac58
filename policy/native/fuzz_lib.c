/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fuzzes policy/lib: each container against an array that is searched from end to end, each computation against
 * the compiler's 128-bit arithmetic. fuzz_main.h has the arguments; modifiers mean nothing here.
 */
#define WIDE_IN_PARTS /* as in BPF: without it lib/wide.h has that arithmetic itself */
#include "lib/bits.h"
#include "lib/heap.h"
#include "lib/partial_sums.h"
#include "lib/pile.h"
#include "lib/random.h"
#include "lib/ring.h"
#include "lib/tree.h"
#include "lib/vtime.h"
#include "lib/wide.h"
#include "fuzz_main.h"

#define MUST(condition) ((condition) ? (void)0 : lib_fail(__LINE__, #condition))

static _Noreturn void lib_fail(int line, const char *condition)
{
	fprintf(stderr, "fuzz: not so: %s (fuzz_lib.c:%d)\n", condition, line);
	abort();
}

static u64 next_u64(struct bytes *b)
{
	/* All magnitudes */
	return (next_u32(b) << 32 | next_u32(b)) >> next_byte(b) % 64;
}

/* ---- heap ---- */

static struct heap heap;
static struct {
	bool in;
	u64 key; /* less the base, so that it does not wrap */
	u64 seq;
} held[POOL];

static void hold(u32 id, u64 key, u64 seq)
{
	held[id].in = true;
	held[id].key = key;
	held[id].seq = seq;
}

/* The task that the heap must name: the least key, then the first that was inserted; 0 when empty */
static u32 least_held(void)
{
	u32 least = 0;

	for (u32 id = 1; id < POOL; id++)
		if (held[id].in && (!least || held[id].key < held[least].key ||
				    (held[id].key == held[least].key && held[id].seq < held[least].seq)))
			least = id;
	return least;
}

static void fuzz_heap(struct bytes *b)
{
	u64 base = next_byte(b) % 2 ? ~0ull - 20 : next_u64(b); /* keys that wrap around, and insertions that do */
	u64 seq = 0;

	memset(&heap, 0, sizeof(heap));
	memset(held, 0, sizeof(held));
	heap.seq = 0u - next_byte(b);
	while (more_bytes(b)) {
		u32 op = next_byte(b) % 4, id = 1 + next_byte(b) % (POOL - 1), few = next_byte(b);
		u64 key = few < 128 ? few % 8 : next_u32(b);

		if (op == 0 && !held[id].in) {
			heap_insert(&heap, id, base + key);
			hold(id, key, seq++);
		} else if (op == 1) {
			heap_rekey(&heap, id, base + key);
			if (held[id].in)
				hold(id, key, seq++);
		} else if (op == 2) {
			heap_remove(&heap, id);
			held[id].in = false;
		} else if (op == 3) {
			id = least_held();
			MUST(heap_pop(&heap) == id);
			held[id].in = false;
		}
		MUST(heap_holds(&heap, id) == held[id].in);
		MUST(heap_first(&heap) == least_held());
		MUST(!heap.n || heap_first_key(&heap) == base + held[least_held()].key);
	}
	while (heap.n) {
		u32 id = least_held();

		MUST(heap_pop(&heap) == id);
		held[id].in = false;
	}
	MUST(!least_held());
}

/* ---- piles ---- */

static struct piles piles;

static u32 least_of(u32 pile)
{
	u32 least = 0;

	for (u32 id = 1; id < POOL; id++)
		if (held[id].in && pile_of(&piles, id) == pile &&
		    (!least || held[id].key < held[least].key ||
		     (held[id].key == held[least].key && held[id].seq < held[least].seq)))
			least = id;
	return least;
}

/* Three heaps in one pool */
static void fuzz_piles(struct bytes *b)
{
	u64 base = next_byte(b) % 2 ? ~0ull - 20 : next_u64(b);
	u64 seq = 0;

	memset(&piles, 0, sizeof(piles));
	memset(held, 0, sizeof(held));
	piles.seq = 0u - next_byte(b);
	while (more_bytes(b)) {
		u32 id = 1 + next_byte(b) % (POOL - 1), of = 1 + next_byte(b) % 3, few = next_byte(b);
		u64 key = few < 128 ? few % 8 : next_u32(b);

		if (held[id].in) {
			pile_remove(&piles, id);
			held[id].in = false;
			MUST(!pile_of(&piles, id));
		} else {
			pile_insert(&piles, of, id, base + key);
			hold(id, key, seq++);
		}
		for (of = 1; of <= 3; of++)
			MUST(pile_first(&piles, of) == least_of(of));
	}
}

/* ---- tree ---- */

static struct tree tree;
static struct {
	bool in;
	u64 major, minor, part, turn; /* minor less the base */
} grown[POOL];

static bool grown_before(u32 a, u32 b)
{
	if (grown[a].major != grown[b].major)
		return grown[a].major < grown[b].major;
	if (grown[a].minor != grown[b].minor)
		return grown[a].minor < grown[b].minor;
	if (grown[a].part != grown[b].part)
		return grown[a].part < grown[b].part;
	return grown[a].turn < grown[b].turn;
}

/* By minor key, whatever the major one is */
static bool grown_is_first(u32 a, u32 b)
{
	if (grown[a].minor != grown[b].minor)
		return grown[a].minor < grown[b].minor;
	if (grown[a].part != grown[b].part)
		return grown[a].part < grown[b].part;
	return grown[a].turn < grown[b].turn;
}

/* The first after `id`, 0 if there is none; of 0 the first of all */
static u32 grown_next(u32 id)
{
	u32 next = 0;

	for (u32 i = 1; i < POOL; i++)
		if (grown[i].in && (!id || grown_before(id, i)) && (!next || grown_before(i, next)))
			next = i;
	return next;
}

/* A search finds what one from end to end finds; [0] is in no tree, and a key here. */
static void tree_must_find(u64 base)
{
	struct tree_node key = {
		.major = grown[0].major, .minor = base + grown[0].minor, .part = grown[0].part, .turn = grown[0].turn
	};
	u32 first = 0;

	for (u32 i = 1; i < POOL; i++)
		if (grown[i].in && grown_before(0, i) && (!first || grown_before(i, first)))
			first = i;
	MUST(tree_after(&tree, &key) == first);
}

/* Checks what each node knows of those below it, and that ranks go down. */
static u32 tree_must_know(u32 id, u64 base)
{
	struct tree_node *n = tree_node(&tree, id);
	u64 major = n->major, turn = n->turn;
	u32 below = 1, first = id;

	for (u32 side = 0; side < 2; side++) {
		struct tree_node *c = tree_node(&tree, n->child[side]);
		if (!n->child[side])
			continue;
		MUST(c->up == id && tree_rank(n->child[side]) <= tree_rank(id));
		below += tree_must_know(n->child[side], base);
		if (c->least_major < major)
			major = c->least_major;
		if (c->least_turn < turn)
			turn = c->least_turn;
		if (grown_is_first(c->first, first))
			first = c->first;
	}
	MUST(n->least_major == major && n->first == first && grown[first].in);
	MUST(!TREE_PARTS || n->least_turn == turn);
	MUST(n->first_minor - base == grown[first].minor && n->first_part == grown[first].part);
	return below;
}

static void tree_must_be_grown(u64 base)
{
	u32 id = 0, n = 0;

	tree_start(&tree);
	while (tree.at) {
		u32 next = tree_step(&tree);

		if (!next)
			continue;
		id = grown_next(id);
		MUST(next == id);
		n++;
	}
	MUST(!grown_next(id));
	MUST(!n == !tree_root(&tree));
	MUST(!n || tree_must_know(tree_root(&tree), base) == n);
}

static void fuzz_tree(struct bytes *b)
{
	u64 base = next_byte(b) % 2 ? ~0ull - 20 : next_u64(b); /* minor keys that wrap around */
	u64 turn = 0;

	memset(&tree, 0, sizeof(tree));
	memset(grown, 0, sizeof(grown));
	while (more_bytes(b)) {
		u32 id = 1 + next_byte(b) % (POOL - 1), few = next_byte(b);

		MUST(tree_holds(&tree, id) == grown[id].in);
		if (next_byte(b) % 3 == 0) {
			tree_remove(&tree, id);
			grown[id].in = false;
		} else if (!grown[id].in) {
			grown[id].in = true;
			grown[id].major = few % 4 ? few % 16 : next_u64(b);
			grown[id].minor = few < 128 ? few % 8 : next_u32(b);
			grown[id].part = TREE_PARTS ? few % 3 : 0;
			grown[id].turn = turn++;
			tree_insert_part(&tree, id, grown[id].major, base + grown[id].minor, grown[id].part,
					 grown[id].turn);
		}
		if (few % 8 == 0)
			tree_must_be_grown(base);
		grown[0] = grown[id];
		grown[0].turn += few % 2;
		tree_must_find(base);
	}
	tree_must_be_grown(base);
}

/* ---- ring ---- */

static struct links links;

static void fuzz_ring(struct bytes *b)
{
	u32 list[POOL], n = 0, first = 0;

	memset(&links, 0, sizeof(links));
	while (more_bytes(b)) {
		u32 op = next_byte(b) % 4, id = 1 + next_byte(b) % (POOL - 1), at = 0;

		while (at < n && list[at] != id)
			at++;
		if (op == 0 && at == n) {
			ring_push_back(&links, &first, id);
			list[n++] = id;
		} else if (op == 1 && at == n) {
			ring_push_front(&links, &first, id);
			memmove(list + 1, list, n++ * sizeof(*list));
			list[0] = id;
		} else if (op == 2 && at < n) {
			ring_remove(&links, &first, id);
			memmove(list + at, list + at + 1, (--n - at) * sizeof(*list));
		} else if (op == 3) {
			MUST(ring_pop_front(&links, &first) == (n ? list[0] : 0));
			if (n)
				memmove(list, list + 1, --n * sizeof(*list));
		}
		MUST(first == (n ? list[0] : 0));
		MUST(ring_last(&links, first) == (n ? list[n - 1] : 0));
		for (u32 i = 0; i < n; i++)
			MUST(ring_next(&links, list[i]) == list[(i + 1) % n]);
	}
}

/* Two lists, each a run of ids, become one. */
static void fuzz_append(struct bytes *b)
{
	u32 first = 0, other = 0, n = next_byte(b) % 8, m = next_byte(b) % 8;

	memset(&links, 0, sizeof(links));
	for (u32 id = 1; id <= n; id++)
		ring_push_back(&links, &first, id);
	for (u32 id = n + 1; id <= n + m; id++)
		ring_push_back(&links, &other, id);
	ring_append(&links, &first, other);
	for (u32 id = 1; id <= n + m; id++)
		MUST(ring_pop_front(&links, &first) == id);
	MUST(!first);
}

/* ---- partial sums ---- */

static struct partial_sums sums;

/* The task in which a number falls, by adding up */
static u32 task_with_number(const u64 *value, u64 number)
{
	u32 id = 1;

	while (number >= value[id])
		number -= value[id++];
	return id;
}

static void fuzz_partial_sums(struct bytes *b)
{
	u64 value[POOL] = { 0 }, total = 0;

	memset(&sums, 0, sizeof(sums));
	while (more_bytes(b)) {
		u32 id = 1 + next_byte(b) % (POOL - 1);
		u64 few = next_byte(b), number = next_u64(b);

		total -= value[id];
		value[id] = few < 64 ? 0 : next_u64(b) >> 8;
		total += value[id];
		partial_sums_set(&sums, id, value[id]);
		MUST(sums.total == total);
		if (total)
			MUST(partial_sums_find(&sums, number % total) == task_with_number(value, number % total));
	}
}

/* ---- random numbers ---- */

/* Below n; and of 3 * 2^62, of which a plain product with a 64-bit number would give every third twice as often, the
 * third of the numbers are multiples of 3 (4 standard deviations are 100 of 3,000). */
static void test_random(void)
{
	struct random r = { .state = 1 };
	u32 multiples = 0;

	for (u64 n = 1; n < 1000; n++)
		MUST(random_below(&r, n) < n);
	for (u32 i = 0; i < 3000; i++)
		multiples += random_below(&r, 3ull << 62) % 3 == 0;
	MUST(multiples > 900 && multiples < 1100);
}

/* ---- arithmetic ---- */

typedef unsigned __int128 u128;

static void fuzz_bits(u64 x)
{
	u32 high = 0, low = 63;

	for (u32 i = 0; i < 64; i++)
		if (x >> i & 1)
			high = i;
	for (u32 i = 64; i--;)
		if (x >> i & 1)
			low = i;
	MUST(floor_log2(x) == high);
	MUST(!x || lowest_bit(x) == low);
}

static void fuzz_wide(u64 a, u64 b, u64 c, u64 d)
{
	struct wide product = wide_mul(a, b);
	u128 exact = (u128)a * b;

	MUST(((u128)product.hi << 64 | product.lo) == exact);
	MUST(wide_greater(a, b, c, d) == (exact > (u128)c * d));
}

static void fuzz_wide_division(u64 a, u64 b, u64 c)
{
	struct wide_division scratch = { 0 };
	u128 exact = (u128)a * b / c;
	u64 quotient = wide_mul_div(&scratch, a, b, c);

	MUST(quotient == (exact >> 64 ? ~0ull : (u64)exact));
}

/* However it is charged, a tag is the service over the weight, rounded down once. */
static void fuzz_vtime(struct bytes *b)
{
	u64 w = 1 + next_u64(b) % WEIGHT_MAX;
	struct vtime t = { .v = next_u64(b) };
	u64 from = t.v;
	u128 service = 0;

	for (u32 i = 0; i < 16; i++) {
		u64 ran = next_u64(b) % VTIME_RAN_MAX;

		vtime_advance(&t, ran, w);
		service += ran;
		MUST(t.v == from + (u64)(service * WEIGHT_NICE_0 / w));
	}
	vtime_reweigh(&t);
	MUST(t.rest == 0);
	MUST(vtime_max(from, from + (w >> 1)) == from + (w >> 1));
	MUST(!vtime_before(from + (w >> 1), from));
}

static bool fuzz_has_set(u32 modifiers)
{
	return !modifiers;
}

static void fuzz_case(const u8 *bytes, u64 n, u32 modifiers)
{
	struct bytes b = { bytes, n, 0 }, c = b, d = b, e = b, f = b, g = b, h = b;

	(void)modifiers;
	fuzz_heap(&c);
	fuzz_piles(&h);
	fuzz_ring(&d);
	fuzz_tree(&g);
	fuzz_append(&e);
	fuzz_partial_sums(&f);
	test_random();
	while (more_bytes(&b)) {
		u64 w = next_u64(&b), x = next_u64(&b), y = next_u64(&b), z = next_u64(&b);

		fuzz_bits(w);
		fuzz_wide(w, x, y, z);
		fuzz_wide(w, x, w, x);
		if (y && !(y >> 63))
			fuzz_wide_division(w, x, y);
		fuzz_vtime(&b);
	}
	fuzz_events += n;
}
