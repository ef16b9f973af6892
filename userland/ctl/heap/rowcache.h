/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Saves unwind rows in the user's row files, from which later runs read them (cfi/rowfile.h), and loads the function
 * names that earlier runs saved.
 */
#ifndef MASSIF_CTL_ROWCACHE_H
#define MASSIF_CTL_ROWCACHE_H

#include "ctl/options/options.h"
#include "model/store.h"

/*
 * Saves the unwind rules that the program profiled in @store had to find itself. The program supplies only the
 * addresses; the rules are read again from the objects' files, as far as mf_cachedir_may_keep_from() permits. @path is the
 * directory (see mf_cachedir_locate()), which is created if missing. Errors are not reported: they only slow down the next
 * program a little.
 */
void mf_rowcache_learn(const struct mf_store *store, const char *path);

/* Loads the function names that earlier runs looked up, including those of inlined calls. */
void mf_rowcache_know_names(const struct mf_options *options);

#endif
