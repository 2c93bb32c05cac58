/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* sfs: start and finish tags, and virtual time (sfs R2, R4, R8). */
#ifndef DIVVY_SFS_TAGS_H
#define DIVVY_SFS_TAGS_H

#include "state.h"

/* v = min S over all runnable tasks; while nobody is runnable it stays at the last finish tag (sfs R4) */
static NOINLINE void sfs_advance(struct sfs *s)
{
	if (s->runnable.n)
		s->v = tag_max(s->v, task_of(s, heap_first(&s->runnable))->S);
}

#define SFS_FAR (1ull << 61) /* one charge moves a tag no further, so that the order of tags stays defined (sfs R8) */

/* F += scale q/phi; the remainder is carried (sfs R2, R8) */
static NOINLINE void sfs_receive(struct sfs *s, struct sfs_task *t, u64 q, u64 phi)
{
	u64 scaled = (q < VTIME_RAN_MAX ? q : VTIME_RAN_MAX) * s->param.scale;
	struct wide rest = { .lo = t->rest }, product = wide_add(wide_mul(scaled, WEIGHT_NICE_0), rest);
	u64 dF = wide_div(&s->division, product, phi);

	t->rest = product.lo - dF * phi;
	if (dF > SFS_FAR) {
		dF = SFS_FAR;
		t->rest = 0;
	}
	t->F.v += dF;
}

/* F with its remainder */
static inline struct tag sfs_finish(const struct sfs *s, u32 id)
{
	return tag_plus(task_of(s, id)->F, task_of(s, id)->rest, weight_of(&s->tasks, id));
}

/* Before it has another weight: the remainder was a part of the old one (sfs R8). */
static NOINLINE void sfs_settle(struct sfs *s, u32 id)
{
	task_of(s, id)->F = sfs_finish(s, id);
	task_of(s, id)->rest = 0;
}

/* The surplus in ns of service: phi counts from nice 0 on. A task that is not runnable has none. */
static inline s64 sfs_shown_surplus(const struct sfs *s, u32 id)
{
	struct wide surplus = tag_times(weight_of(&s->tasks, id), task_of(s, id)->S, s->v);

	return heap_holds(&s->runnable, id) ? surplus.hi << 44 | surplus.lo >> 20 : 0;
}

#endif
