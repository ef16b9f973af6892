/* SPDX-License-Identifier: GPL-2.0 */
/* The user's directory of row files (unwind/rowfile.h): where it is, and what is added to it. */
#ifndef MASSIF_CTL_ROWCACHE_H
#define MASSIF_CTL_ROWCACHE_H

#include <stddef.h>

#include "model/store.h"

/*
 * Where it is, or would be, for this user: to @path, of @size bytes. Empty if there can be none: the
 * environment names no directory, or is another user's.
 */
void mf_rowcache_locate(char *path, size_t size);

/*
 * Adds the rules that the program of @store had to find for itself, found anew in the objects' files:
 * what the program says is only where to look. Makes the directory if it is not there. What goes wrong
 * costs the next program some time and is not told.
 */
void mf_rowcache_learn(const struct mf_store *store, const char *path);

#endif
