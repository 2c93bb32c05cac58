/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks whose weights the account of several shards has changed (weighing.h), and that their shards are still to be told: a queue of ids, each
 * at most once. It is written under the account's lock; whether there is one is read without it, as a hint. An id whose task is gone, or is another one's by now, may stay: who is told
 * is told the weight of that moment.
 */
#ifndef DIVVY_HOST_REWEIGHED_H
#define DIVVY_HOST_REWEIGHED_H

#ifdef DIVVY_SHARDS
extern struct machine weigher_machine;
#define MACHINE_WITH_MODIFIERS (&weigher_machine)
#define MACHINE_REWEIGHED(m, id) \
	do { \
		if ((m) == &weigher_machine) \
			note_reweighed(id); \
	} while (0)

static struct {
	u32 first; /* places of the queue count on and on */
	u32 end;
	u32 id[POOL];
	bool has[POOL];
} reweighed;

static __always_inline void note_reweighed(u32 id)
{
	if (reweighed.has[id & POOL_MASK])
		return;
	reweighed.has[id & POOL_MASK] = true;
	reweighed.id[reweighed.end++ & POOL_MASK] = id;
}

/* The next of them, which is none any more; 0 if there is none */
static __always_inline u32 take_reweighed(void)
{
	u32 id;

	if (reweighed.first == reweighed.end)
		return 0;
	id = reweighed.id[reweighed.first++ & POOL_MASK];
	reweighed.has[id & POOL_MASK] = false;
	return id;
}
#endif

#endif
