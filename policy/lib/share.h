/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Integer shares, for algorithms that count them: a weight of 1 in the kernel's table is one share. */
#ifndef DIVVY_SHARE_H
#define DIVVY_SHARE_H

#include "../base.h"

#define SHARE_BITS 32 /* a share has fewer; a power of two for the verifier */

/* To the nearest, at least 1 */
static inline u64 share_of(u64 w)
{
	u64 S = (w + (1 << 9)) >> 10;

	return S ? S : 1;
}

#endif
