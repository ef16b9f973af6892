// SPDX-License-Identifier: GPL-2.0
// Decompresses zlib data. libdeflate is twice as fast as zlib.

#include "base/inflate.h"

#include <libdeflate.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Maximum number of output bytes per input byte: two bits can stand for 258 bytes (RFC 1951). */
#define MOST_BY_ONE_BYTE 1032u

uint8_t *mf_inflate(const void *compressed, size_t size, uint64_t plain_size)
{
	struct libdeflate_decompressor *decompressor;
	mf_auto_free uint8_t *plain = NULL;
	enum libdeflate_result result;

	/* A bogus size in a header must not exhaust memory. */
	if (plain_size / MOST_BY_ONE_BYTE > size)
		return NULL;
	plain = malloc(plain_size + 1);
	decompressor = plain ? libdeflate_alloc_decompressor() : NULL;
	if (!decompressor)
		return NULL;
	/*
	 * When no pointer for the actual size is passed, libdeflate requires the output to be exactly plain_size
	 * bytes.
	 */
	result = libdeflate_zlib_decompress(decompressor, compressed, size, plain, plain_size, NULL);
	libdeflate_free_decompressor(decompressor);
	return result == LIBDEFLATE_SUCCESS ? mf_take(plain, NULL) : NULL;
}
