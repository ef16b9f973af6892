// SPDX-License-Identifier: GPL-2.0
// Decompresses what zlib compressed: libdeflate takes half of zlib's time for it.

#include "base/inflate.h"

#include <libdeflate.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* No byte stands for more than this many (RFC 1951: 258 bytes by two bits, and some rest). */
#define MOST_BY_ONE_BYTE 1032u

uint8_t *mf_inflate(const void *compressed, size_t size, uint64_t plain_size)
{
	struct libdeflate_decompressor *decompressor;
	mf_auto_free uint8_t *plain = NULL;
	enum libdeflate_result result;

	/* A header that lies shall not take the machine's memory. */
	if (plain_size / MOST_BY_ONE_BYTE > size)
		return NULL;
	plain = malloc(plain_size + 1);
	decompressor = plain ? libdeflate_alloc_decompressor() : NULL;
	if (!decompressor)
		return NULL;
	/* Without a place for the size it must be just this one. */
	result = libdeflate_zlib_decompress(decompressor, compressed, size, plain, plain_size, NULL);
	libdeflate_free_decompressor(decompressor);
	return result == LIBDEFLATE_SUCCESS ? mf_take(plain, NULL) : NULL;
}
