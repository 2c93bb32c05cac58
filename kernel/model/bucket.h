/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A leaky bucket for each cgroup with a limit, which knows nothing of the host's periods: what its tasks run goes in, and quota / period
 * leaks out. In any window of time, however it lies to the periods, a cgroup gets at most the quotas of the periods that it touches, what
 * was saved up, and what could not be ended before a tick (groups R7 to R9).
 */
#ifndef MODEL_BUCKET_H
#define MODEL_BUCKET_H

#include "model.h"

/* How often the loader of a kernel that does not tell asks for limits */
#define FOLLOWS_NS 1000000000ull

/* Cgroups that are deeper have no limit of their own: papers/groups.md, R5 */
#define LIMITED_LEVELS 8

struct bucket {
	u64 quota, period, burst; /* quota 0: no limit */
	u64 level;                /* ns that it got beyond the rate */
	u64 then;                 /* when that was so */
	u64 changed;              /* when it last got another limit, or lost it; 0: never */
};

void change_bucket(struct bucket *b, u64 quota, u64 period, u64 burst);
void fill_bucket(struct bucket *b, u64 ran);
/* Whether it has a limit, or had one that the host may still believe in. */
bool is_bucket_limited(const struct bucket *b);
void check_bucket(const struct bucket *b, u32 number);

#endif
