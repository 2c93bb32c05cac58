/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The bytes by which a fuzzer chooses; zeros when they have run out. */
#ifndef DIVVY_FUZZ_BYTES_H
#define DIVVY_FUZZ_BYTES_H

#include "policy.h"

struct bytes {
	const u8 *byte;
	u64 n, at;
};

static inline bool more_bytes(const struct bytes *b)
{
	return b->at < b->n;
}

static inline u32 next_byte(struct bytes *b)
{
	return more_bytes(b) ? b->byte[b->at++] : 0;
}

static inline u64 next_u32(struct bytes *b)
{
	u64 x = 0;

	for (u32 i = 0; i < 4; i++)
		x = x << 8 | next_byte(b);
	return x;
}

/* Bytes from a seed, by splitmix64 (Steele, Lea, Flood 2014) */
static inline void seed_bytes(u8 *bytes, u64 n, u64 seed)
{
	for (u64 i = 0; i < n; i++) {
		u64 z = seed += 0x9e3779b97f4a7c15ull;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ z >> 27) * 0x94d049bb133111ebull;
		bytes[i] = (z ^ z >> 31) >> 56;
	}
}

#endif
