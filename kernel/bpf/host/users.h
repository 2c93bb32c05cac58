/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The users of tasks, and whom users belong to. */
#ifndef DIVVY_HOST_USERS_H
#define DIVVY_HOST_USERS_H

#include "host/state.h"

static __always_inline u32 user_of(const struct task_struct *p)
{
	return p->real_cred->uid.val;
}

/* The user to whom this one is subordinate, or itself. */
NOINLINE u32 owner_of_user(u32 user)
{
	u32 low = 0, high = subordinates.n;

	while (low < high && can_loop) {
		u32 middle = (low + high) / 2;
		struct subordinate_range *range = &subordinates.range[middle & (MAX_SUBORDINATES - 1)];

		if (user < range->first)
			high = middle;
		else if (user > range->last)
			low = middle + 1;
		else
			return range->owner;
	}
	return user;
}

#endif
