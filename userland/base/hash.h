/* SPDX-License-Identifier: GPL-2.0 */
/* A hash of two numbers, for tables whose size is a power of two: every input bit affects the low bits. */
#ifndef MASSIF_BASE_HASH_H
#define MASSIF_BASE_HASH_H

#include <stdint.h>

/*
 * Code addresses are often evenly spaced, for example if a library is loaded a thousand times, or a thousand libraries
 * are one page apart. After a single multiplication, such addresses would fill a run of adjacent slots, and each lookup
 * would walk the whole run.
 */
static inline uint64_t mf_hash(uint64_t first, uint64_t second)
{
	uint64_t hash = first * 0x9e3779b97f4a7c15ull; /* 2^64 divided by the golden ratio */

	hash = ((hash ^ hash >> 32) + second) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

#endif
