/* SPDX-License-Identifier: GPL-2.0 */
/* The user's cache directory, which keeps results of one run to make the next run faster. */
#ifndef MASSIF_BASE_CACHEDIR_H
#define MASSIF_BASE_CACHEDIR_H

#include <stddef.h>

/*
 * Writes the user's cache directory to @path, of @size bytes, whether or not it exists. It is "" if there can be none:
 * the environment names no directory or is another user's.
 */
void mf_cachedir_locate(char *path, size_t size);

/*
 * Open the directory @path; mf_cachedir_make() creates it if needed. Return a descriptor, which the caller closes, or
 * -errno. The directory must belong to the user, and nobody else may be able to write to it.
 */
int mf_cachedir_open(const char *path);
int mf_cachedir_make(const char *path);

/*
 * Reads the file @name. Returns *@size bytes, which the caller frees. Returns NULL if there is no file, if it is larger
 * than @most bytes or not the user's own, or if others may write to it.
 */
void *mf_cachedir_read(int directory, const char *name, size_t most, size_t *size);

/*
 * Writes or replaces the file @name. The change is atomic: a reader gets all of the old or all of the new contents. If
 * there are too many files then, the oldest are removed. Errors are ignored.
 */
void mf_cachedir_write(int directory, const char *name, const void *from, size_t size);

#endif
