/* SPDX-License-Identifier: GPL-2.0 */
/* The user's directory of what a run has found out and the next one need not find out again. */
#ifndef MASSIF_BASE_CACHEDIR_H
#define MASSIF_BASE_CACHEDIR_H

#include <stddef.h>

/*
 * Where it is, or would be, for this user: to @path, of @size bytes. Empty if there can be none: the
 * environment names no directory, or is another user's.
 */
void mf_cachedir_locate(char *path, size_t size);

/*
 * The directory @path, to be closed, or -errno. Only one that the user, and nobody else, can write to.
 * The second makes it if it is not there.
 */
int mf_cachedir_open(const char *path);
int mf_cachedir_make(const char *path);

/*
 * Reads the file @name, to be released with free(). NULL if there is none, or it is larger than
 * @most, or it is not the user's own, or others may write to it.
 */
void *mf_cachedir_read(int directory, const char *name, size_t most, size_t *size);

/*
 * Writes the file @name, or replaces it: whoever reads it has all of the one or of the other. If that
 * makes too many, the oldest go. What goes wrong is not told.
 */
void mf_cachedir_write(int directory, const char *name, const void *from, size_t size);

#endif
