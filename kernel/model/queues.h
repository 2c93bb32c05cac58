/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Dispatch queues (DSQs): user queues by id, the global one, and a local one for each CPU. All are first in, first out. */
#ifndef MODEL_QUEUES_H
#define MODEL_QUEUES_H

#include "model.h"

#define DSQ_INVALID (1ull << 63)
#define DSQ_GLOBAL ((1ull << 63) | 1)

extern struct dsq global_dsq;

/* NULL if there is none. */
struct dsq *find_dsq(u64 id);
/* An error of errno, negated, or 0. */
s32 make_dsq(u64 id);

void dsq_add(struct dsq *dsq, struct model_task *p, bool at_head);
void dsq_remove(struct model_task *p);

#endif
