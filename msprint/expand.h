/* SPDX-License-Identifier: GPL-2.0 */
/* Reads files that may be compressed with gzip(1) or zstd(1). */
#ifndef MASSIF_MSPRINT_EXPAND_H
#define MASSIF_MSPRINT_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Is the regular file @fd compressed? Does not move its offset. */
bool mf_expand_is_needed(int fd);

/*
 * Copies the rest of @from to @to, uncompressed. Returns 0 or -errno. *@why, which the caller sets to NULL, becomes a
 * text if the compressed data is damaged or cut off.
 */
int mf_expand(int from, int to, const char **why);

/* Like read(2), but returns -errno, and never -EINTR. */
ssize_t mf_expand_read(int fd, void *data, size_t len);

#endif
