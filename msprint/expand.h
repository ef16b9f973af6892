/* SPDX-License-Identifier: GPL-2.0 */
/* Bytes of a file, or of what gzip(1) or zstd(1) has made of it. */
#ifndef MF_MSPRINT_EXPAND_H
#define MF_MSPRINT_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether the regular file @fd is compressed. Does not move its offset. */
bool mf_expand_is_needed(int fd);

/*
 * Copies what is left of @from to @to, uncompressed. Returns 0; or -errno, with *@why set to words if
 * the compressed bytes are damaged or end too early.
 */
int mf_expand(int from, int to, const char **why);

/* As read(2), but -errno, and never -EINTR. */
ssize_t mf_expand_read(int fd, void *data, size_t len);

#endif
