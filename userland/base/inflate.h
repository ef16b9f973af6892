/* SPDX-License-Identifier: GPL-2.0 */
/* Decompresses what zlib compressed. */
#ifndef MASSIF_BASE_INFLATE_H
#define MASSIF_BASE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The @plain_size bytes that the @size bytes at @compressed, in the format of RFC 1950, stand for: of
 * malloc, the caller's. NULL if they are not in that format, stand for another number of bytes, are
 * damaged, or memory is short.
 */
uint8_t *mf_inflate(const void *compressed, size_t size, uint64_t plain_size);

#endif
