/* SPDX-License-Identifier: GPL-2.0 */
/* Reads files that may be compressed with gzip(1) or zstd(1). */
#ifndef MASSIF_MSPRINT_EXPAND_H
#define MASSIF_MSPRINT_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Returns whether the regular file @fd is compressed. Does not change its file offset. */
bool mf_expand_is_needed(int fd);

/*
 * Copies the rest of @from to @to, decompressing it. Returns 0 or -errno. If the compressed data is damaged or
 * truncated, sets *@why, which the caller must have set to NULL, to a message.
 */
int mf_expand(int from, int to, const char **why);

/* Like read(2), but returns -errno, and never -EINTR. */
ssize_t mf_expand_read(int fd, void *data, size_t len);

#endif
