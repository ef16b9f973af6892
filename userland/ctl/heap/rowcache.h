/* SPDX-License-Identifier: GPL-2.0 */
/* The user's row files (cfi/rowfile.h), and what is added to them. */
#ifndef MASSIF_CTL_ROWCACHE_H
#define MASSIF_CTL_ROWCACHE_H

#include "ctl/options/options.h"
#include "model/store.h"

/*
 * Adds the rules that the program of @store had to find for itself, found anew in the objects' files:
 * what the program says is only where to look. Makes the directory if it is not there. What goes wrong
 * costs the next program some time and is not told. @path: see mf_cachedir_locate().
 */
void mf_rowcache_learn(const struct mf_store *store, const char *path);

/* What earlier runs have found out about names is known from now on; inlined calls are part of it. */
void mf_rowcache_know_names(const struct mf_options *options);

#endif
