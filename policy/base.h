/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The common ground of every header here: integer types, the size of pools, loops that the BPF verifier takes, units.
 */
#ifndef DIVVY_BASE_H
#define DIVVY_BASE_H

#ifndef __VMLINUX_H__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed long long s64;
#include <stdbool.h>
#endif

/* A call fewer: the verifier takes no more than eight within each other. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

#ifdef __BPF__
#define POOL (1u << 14)
/* One loop a function: the verifier then explores its body once, not once for each way into it. */
#define NOINLINE __attribute__((noinline, unused))
/* Linux 6.12's verifier tells states in a loop apart by what is in r0, also where nobody reads that any more: what a function left
 * there that returns nothing. So it is cleared in each round of a loop, and by functions after which many states are left. */
#define clear_result() asm volatile("r0 = 0" ::: "r0")
/* Addresses that begin with this pointer are worked out anew from here on, in a loop in each round. Without this the compiler works them out once, and
 * keeps all of them on the stack, of which there are 512 bytes for a chain of calls. */
#define keep_no_addresses(pointer) asm volatile("" : "+r"(pointer))
/* may_goto: a jump that the kernel takes when a loop has run for too long, so the verifier need not follow
 * every iteration. In bytes, because not every assembler knows its name. */
// clang-format off
#define can_loop ({ \
	__label__ out_, in_; \
	bool go_ = true; \
	asm volatile goto("r0 = 0; 1: .byte 0xe5; .byte 0; .long ((%l[out_] - 1b - 8) / 8) & 0xffff; .short 0" \
			  ::: "r0" : out_); \
	goto in_; \
	out_: go_ = false; \
	in_:; \
	go_; \
})
// clang-format on
#else
#ifndef POOL
#define POOL (1u << 20)
#endif
#define NOINLINE inline
#define clear_result()
#define keep_no_addresses(pointer)
#define can_loop true
#endif

#define POOL_MASK (POOL - 1)
/* The simulator's host has more (native/host.c). A power of two, at most 4096: a word has a bit for each 64. */
#ifndef MAX_CPUS
#define MAX_CPUS 256u
#endif
#define CPU_MASK (MAX_CPUS - 1)
#define CPU_WORDS (MAX_CPUS / 64)

/* Weights are fixed point with 20 fractional bits relative to nice 0, so a weight of 1 in the kernel's
 * table (nice 0 is 1024 there) is 1024 here, and dividing one by a number of threads loses nothing that
 * matters. A task's weight is at least WEIGHT_MIN and at most WEIGHT_MAX. */
#define WEIGHT_NICE_0 (1ull << 20)
#define WEIGHT_MIN 1ull
#define WEIGHT_MAX (1ull << 40)

#define MS 1000000ll /* ns */

/* Parameters. Each is an s64: a TIME in ns, a RATIO in 2^-16 (RATIO_INF is infinity), an INTEGER, or a SWITCH.
 * A list of parameters is a macro of P(name, KIND, unit, default, min, max, help). */
enum param_kind { TIME, RATIO, INTEGER, SWITCH };
#define RATIO_ONE (1ll << 16)
#define RATIO_INF 0x7fffffffffffffffll

#define PARAM_FIELD(name, kind, unit, dflt, min, max, help) s64 name;
#define PARAMS(list) \
	struct { \
		OPTIONAL(list(PARAM_FIELD)) u64 no_params_[0]; \
	} param

/* The list, or nothing if a policy without parameters does not define it. */
#define OPTIONAL(...) OPTIONAL_(__VA_ARGS__)
#define OPTIONAL_(...) FIELDS_##__VA_ARGS__
#define FIELDS_
#define FIELDS_s64 s64
#define FIELDS_POLICY_PARAMS(field)

#endif
