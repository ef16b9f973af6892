/* SPDX-License-Identifier: GPL-2.0 */
/* Decompresses zlib data. */
#ifndef MASSIF_BASE_INFLATE_H
#define MASSIF_BASE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decompresses the @size bytes at @compressed (RFC 1950). Returns @plain_size bytes, which the caller frees. Returns
 * NULL if the data is corrupt, in another format or of a different size, or if out of memory.
 */
uint8_t *mf_inflate(const void *compressed, size_t size, uint64_t plain_size);

#endif
