/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include "model.h"

/* Says what is wrong with the weights that tasks have in their shards, or NULL. Nothing is on its way to them. */
const char *check_weights(void);

#endif
