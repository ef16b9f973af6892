/* SPDX-License-Identifier: GPL-2.0 */
/* The user's cache directory, which keeps results of one run to speed up the next. */
#ifndef MASSIF_BASE_CACHEDIR_H
#define MASSIF_BASE_CACHEDIR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Stores the path of the user's cache directory in @path, a buffer of @size bytes; the directory need not exist. Stores
 * "" if the environment specifies no directory or belongs to another user.
 */
void mf_cachedir_locate(char *path, size_t size);

/*
 * Returns whether results from the open file @fd may be kept: it belongs to the user or to root, and no other user can write
 * to it. Results are found by an object's build id, and any user can make a file with the build id of another, for example
 * that of the C library.
 */
bool mf_cachedir_may_keep_from(int fd);

/*
 * Both functions open the directory @path; mf_cachedir_make() also creates it if needed. They return a descriptor,
 * which the caller closes, or -errno. The directory must belong to the user and must not be writable by others.
 */
int mf_cachedir_open(const char *path);
int mf_cachedir_make(const char *path);

/*
 * Reads the file @name. Returns *@size bytes, which the caller frees. Returns NULL if the file does not exist, is
 * larger than @most bytes, belongs to another user, or is writable by others.
 */
void *mf_cachedir_read(int directory, const char *name, size_t most, size_t *size);

/*
 * Creates or replaces the file @name. The change is atomic: a reader sees either the old or the new contents in full.
 * If there are then too many files, the oldest are removed. Errors are ignored.
 */
void mf_cachedir_write(int directory, const char *name, const void *from, size_t size);

#endif
