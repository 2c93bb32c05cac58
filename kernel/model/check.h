/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What must hold whenever no CPU executes kernel code. */
#ifndef MODEL_CHECK_H
#define MODEL_CHECK_H

#include "model.h"

/* Ends the scheduler, as scx_error does, if something does not hold. Most calls look at little. */
void check_quiet(void);
/* A CPU has dispatched, and no other was in between. */
void check_choice(s32 cpu);
/* A CPU reads the clock, perhaps while it moves a task from one shard to another. */
void check_move(void);

#endif
