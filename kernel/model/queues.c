/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <errno.h>

#include "queues.h"

#define MAX_USER_DSQS 1024

struct dsq global_dsq = { .id = DSQ_GLOBAL };
static struct dsq user_dsqs[MAX_USER_DSQS];
static u32 nuser_dsqs;

struct dsq *find_dsq(u64 id)
{
	if (id == DSQ_GLOBAL)
		return &global_dsq;
	for (u32 i = 0; i < nuser_dsqs; i++)
		if (user_dsqs[i].id == id)
			return &user_dsqs[i];
	return NULL;
}

s32 make_dsq(u64 id)
{
	if (id >> 63 || find_dsq(id))
		return -EINVAL;
	if (nuser_dsqs == MAX_USER_DSQS)
		return -ENOMEM;
	user_dsqs[nuser_dsqs++].id = id;
	return 0;
}

void dsq_add(struct dsq *dsq, struct model_task *p, bool at_head)
{
	struct model_task *next = at_head ? dsq->first : NULL, *prev = at_head ? NULL : dsq->last;

	if (p->dsq) {
		scx_error("task %u is in two DSQs", p->index);
		return;
	}
	p->next = next;
	p->prev = prev;
	*(next ? &next->prev : &dsq->last) = p;
	*(prev ? &prev->next : &dsq->first) = p;
	p->dsq = dsq;
	dsq->queued++;
}

void dsq_remove(struct model_task *p)
{
	struct dsq *dsq = p->dsq;

	if (!dsq)
		return;
	*(p->next ? &p->next->prev : &dsq->last) = p->prev;
	*(p->prev ? &p->prev->next : &dsq->first) = p->next;
	p->dsq = NULL;
	p->next = p->prev = NULL;
	dsq->queued--;
}
