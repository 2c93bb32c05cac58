/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Runs decisions of sfs in measured(), for a tool that counts the instructions of a function: instructions.sh.
 *
 *   instructions THREADS DECISIONS K UPDATE
 */
#include <stdio.h>
#include <stdlib.h>

#include "host.h"

#define QUANTUM 1000000ull
#define SEED 88172645463325252ull
#define GREATEST_WEIGHT 40
#define NICE_0 1024 /* the weight of nice 0, as a user writes it */

extern const struct host divvy_host_sfs;

/* In the order of its parameters */
enum { PARAM_K = 1, PARAM_UPDATE = 2 };

static u32 below(u32 n)
{
	static u64 state = SEED;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* Not inlined, so that it has a name. */
__attribute__((noinline)) void measured(struct machine *m, u64 now, u64 decisions, u32 *ran)
{
	divvy_host_sfs.turns(m, now, decisions, ran);
}

int main(int argc, char **argv)
{
	const struct host *h = &divvy_host_sfs;
	struct machine *m = calloc(1, h->size(1));
	u64 threads, decisions, begin;
	u32 *ran;

	if (argc != 5 || !m) {
		fprintf(stderr, "instructions THREADS DECISIONS K UPDATE\n");
		return 2;
	}
	threads = strtoull(argv[1], NULL, 10);
	decisions = strtoull(argv[2], NULL, 10);
	begin = 20 * threads;
	ran = calloc(begin + decisions + 1, sizeof(*ran));
	if (!ran)
		return 1;
	h->prepare(m, 0);
	h->init(m, 1, QUANTUM);
	for (u32 id = 1; id <= threads; id++) {
		h->new(m, id, id, (1 + below(GREATEST_WEIGHT)) * (WEIGHT_NICE_0 / NICE_0), 0);
		h->wake(m, id, 0, true);
	}
	/* Until all have left the first round, by the search, which is quick; then one decision that sorts all. */
	h->turns(m, 0, begin, ran);
	h->set_param(m, 0, PARAM_UPDATE, 1);
	h->set_param(m, 0, PARAM_K, strtoll(argv[3], NULL, 10));
	h->turns(m, begin * QUANTUM, 1, ran);
	h->set_param(m, 0, PARAM_UPDATE, strtoll(argv[4], NULL, 10));
	measured(m, (begin + 1) * QUANTUM, decisions, ran);
	return 0;
}
