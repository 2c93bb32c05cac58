/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* 128-bit products, for the ratios that papers compare. BPF has only 64-bit arithmetic: there numbers are in two parts, which takes
 * ten times as many instructions as numbers of 128 bits do elsewhere. */
#ifndef DIVVY_WIDE_H
#define DIVVY_WIDE_H

#include "../base.h"

#if defined(__BPF__) || !defined(__SIZEOF_INT128__)
#define WIDE_IN_PARTS
#endif

struct wide {
	u64 hi;
	u64 lo;
};

/* Scratch of a division. Keep it in the policy's state: the verifier follows the stack bit by bit. */
struct wide_division {
	u64 hi, lo; /* what is left of the dividend, shifted left a bit a step */
	u64 c;
	u64 bit;  /* steps done */
	u64 zero; /* always 0, and the verifier does not know it */
};

#ifdef WIDE_IN_PARTS
static inline struct wide wide_mul(u64 a, u64 b)
{
	u64 al = a & 0xffffffff, ah = a >> 32, bl = b & 0xffffffff, bh = b >> 32;
	u64 low = al * bl;
	u64 mid = ah * bl + (low >> 32);
	u64 mid2 = al * bh + (mid & 0xffffffff);

	return (struct wide){
		.hi = ah * bh + (mid >> 32) + (mid2 >> 32),
		.lo = (mid2 << 32) | (low & 0xffffffff),
	};
}

/* The following functions have no branches, as the verifier goes each branch both ways. */

/* The borrow of a - b from the next digit: 1 if a < b */
static inline u64 wide_borrow(u64 a, u64 b)
{
	return ((~a & b) | ((~a | b) & (a - b))) >> 63;
}

/* a * b > c * d, exactly */
static inline bool wide_greater(u64 a, u64 b, u64 c, u64 d)
{
	struct wide x = wide_mul(a, b), y = wide_mul(c, d);

	return wide_borrow(y.hi, x.hi) | wide_borrow(y.hi - x.hi, wide_borrow(y.lo, x.lo));
}

/* Sums of signed numbers, in two's complement */
static inline struct wide wide_add(struct wide a, struct wide b)
{
	u64 lo = a.lo + b.lo;
	u64 carry = ((a.lo & b.lo) | ((a.lo | b.lo) & ~lo)) >> 63;

	return (struct wide){ .hi = a.hi + b.hi + carry, .lo = lo };
}

/* 64 steps of long division: afterwards lo is the quotient. Needs hi < c and c below 2^63. */
static NOINLINE void wide_divide(struct wide_division *d)
{
	while (d->bit < 64 && can_loop) {
		d->hi = (d->hi << 1) | (d->lo >> 63);
		d->lo <<= 1;
		if (d->hi >= d->c) {
			d->hi -= d->c;
			d->lo |= 1;
		}
		d->bit++;
	}
}

#else
typedef unsigned __int128 u128;

static inline struct wide wide_mul(u64 a, u64 b)
{
	u128 product = (u128)a * b;

	return (struct wide){ .hi = product >> 64, .lo = product };
}

/* a * b > c * d, exactly */
static inline bool wide_greater(u64 a, u64 b, u64 c, u64 d)
{
	return (u128)a * b > (u128)c * d;
}

/* Sums of signed numbers, in two's complement */
static inline struct wide wide_add(struct wide a, struct wide b)
{
	u64 lo = a.lo + b.lo;

	return (struct wide){ .hi = a.hi + b.hi + (lo < a.lo), .lo = lo };
}

/* Afterwards lo is the quotient. Needs hi < c. */
static inline void wide_divide(struct wide_division *d)
{
	d->lo = ((u128)d->hi << 64 | d->lo) / d->c;
}
#endif

static inline struct wide wide_negate(struct wide a)
{
	return (struct wide){ .hi = ~a.hi + !a.lo, .lo = -a.lo };
}

static inline bool wide_is_negative(struct wide a)
{
	return a.hi >> 63;
}

/* a * b of a signed b, which as an unsigned number is 2^64 too much if it is negative */
static inline struct wide wide_mul_signed(u64 a, u64 b)
{
	struct wide x = wide_mul(a, b);

	x.hi -= a & -(b >> 63);
	return x;
}

/* floor(x / c), or the greatest u64 if it does not fit */
static inline u64 wide_div(struct wide_division *d, struct wide x, u64 c)
{
	if (!x.hi)
		return x.lo / c;
	if (x.hi >= c)
		return ~0ull;
	d->hi = x.hi;
	d->lo = x.lo;
	d->c = c;
	d->bit = d->zero;
	wide_divide(d);
	return d->lo;
}

/* floor(a * b / c), or the greatest u64 if it does not fit */
static inline u64 wide_mul_div(struct wide_division *d, u64 a, u64 b, u64 c)
{
	return wide_div(d, wide_mul(a, b), c);
}

#endif
