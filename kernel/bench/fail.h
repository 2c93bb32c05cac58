/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef BENCH_FAIL_H
#define BENCH_FAIL_H

#include <stdio.h>
#include <stdlib.h>

/* Says what failed, and why by errno, and ends the program. */
static inline void fail(const char *what)
{
	perror(what);
	exit(1);
}

#endif
