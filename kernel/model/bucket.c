/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "bucket.h"

/* By then the host knows a limit, and the slices are over that began without it. */
#define KNOWN_NS (FOLLOWS_NS + 300000000)

void change_bucket(struct bucket *b, u64 quota, u64 period, u64 burst)
{
	*b = (struct bucket){ quota, period, burst, 0, model.now, model.now ?: 1 };
}

/* A limit that was there when the scheduler was loaded is known from the beginning. */
static bool is_known(const struct bucket *b)
{
	return b->quota && (b->changed <= model.loaded_ns || model.now > b->changed + KNOWN_NS);
}

static void leak(struct bucket *b)
{
	u64 out = (u64)((unsigned __int128)(model.now - b->then) * b->quota / b->period);

	b->level -= out < b->level ? out : b->level;
	b->then = model.now;
}

void fill_bucket(struct bucket *b, u64 ran)
{
	if (!is_known(b)) {
		b->then = model.now;
		return;
	}
	leak(b);
	b->level += ran;
}

bool is_bucket_limited(const struct bucket *b)
{
	return b->quota || (b->changed && model.now <= b->changed + KNOWN_NS);
}

/* Two periods that the window touches, and on each CPU a slice that ends at a tick, and a tick until it is counted. A task that starves
 * gets moments in any case. */
void check_bucket(const struct bucket *b, u32 number)
{
	u64 most = 2 * b->quota + b->burst + 2 * model.ncpus * model.tick_ns + 1000000;

	if (model.rescues || !is_known(b) || b->level <= most)
		return;
	scx_error("cgroup %u got %llu ns beyond %llu in %llu", number, (unsigned long long)b->level,
		  (unsigned long long)b->quota, (unsigned long long)b->period);
}
