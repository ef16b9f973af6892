/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hash of two numbers, for tables whose size is a power of two: every input bit affects the low bits.
 *
 * It has a key that is random in each process. Files of others could otherwise contain a million keys that share a
 * slot, and each lookup would walk all of them.
 */
#ifndef MASSIF_BASE_HASH_H
#define MASSIF_BASE_HASH_H

#include <stdint.h>

#define MF_HASH_GOLDEN 0x9e3779b97f4a7c15ull /* 2^64 divided by the golden ratio */

/* Set before main() runs, and never changed. */
extern uint64_t mf_hash_key[2];

static inline uint64_t mf_hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Code addresses are often evenly spaced, for example if a library is loaded a thousand times, or a thousand libraries
 * are one page apart. After a single multiplication, such addresses would fill a run of adjacent slots, and each lookup
 * would walk the whole run.
 */
static inline uint64_t mf_hash(uint64_t first, uint64_t second)
{
	uint64_t hash = mf_hash_fold(first ^ mf_hash_key[0], second * MF_HASH_GOLDEN ^ mf_hash_key[1]);

	return mf_hash_fold(hash ^ mf_hash_key[1], MF_HASH_GOLDEN);
}

/* Returns a hash of @text and @number. */
uint64_t mf_hash_text(const char *text, uint64_t number);

#endif
