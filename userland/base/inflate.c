// SPDX-License-Identifier: GPL-2.0
// Decompresses zlib data. libdeflate is twice as fast as zlib.

#include "base/inflate.h"

#include <libdeflate.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Most output bytes for one input byte (RFC 1951: 258 bytes for two bits, plus a remainder). */
#define MOST_BY_ONE_BYTE 1032u

uint8_t *mf_inflate(const void *compressed, size_t size, uint64_t plain_size)
{
	struct libdeflate_decompressor *decompressor;
	mf_auto_free uint8_t *plain = NULL;
	enum libdeflate_result result;

	/* A false size in a header must not exhaust the memory. */
	if (plain_size / MOST_BY_ONE_BYTE > size)
		return NULL;
	plain = malloc(plain_size + 1);
	decompressor = plain ? libdeflate_alloc_decompressor() : NULL;
	if (!decompressor)
		return NULL;
	/* Without a pointer for the size, libdeflate requires exactly plain_size bytes. */
	result = libdeflate_zlib_decompress(decompressor, compressed, size, plain, plain_size, NULL);
	libdeflate_free_decompressor(decompressor);
	return result == LIBDEFLATE_SUCCESS ? mf_take(plain, NULL) : NULL;
}
