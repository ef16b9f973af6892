/* SPDX-License-Identifier: GPL-2.0 */
/* A hash of two numbers for tables whose size is a power of two: every bit of either changes the low bits. */
#ifndef MASSIF_BASE_HASH_H
#define MASSIF_BASE_HASH_H

#include <stdint.h>

/*
 * Addresses of code repeat: of a library that is loaded a thousand times, or of a thousand libraries one page apart.
 * One multiplication would put those in a row of neighbouring slots, so that each look-up walks all of them.
 */
static inline uint64_t mf_hash(uint64_t first, uint64_t second)
{
	uint64_t hash = first * 0x9e3779b97f4a7c15ull; /* 2^64 divided by the golden ratio */

	hash = ((hash ^ hash >> 32) + second) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

#endif
