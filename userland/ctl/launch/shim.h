/* SPDX-License-Identifier: GPL-2.0 */
/* Locates the preload shim and builds the environment that loads it. */
#ifndef MASSIF_CTL_SHIM_H
#define MASSIF_CTL_SHIM_H

#include <limits.h>

#include "base/error.h"

/* Stores the directory of massif-ctl itself in @directory, without a trailing slash. Returns 0 or -errno. */
int mf_shim_own_directory(char directory[PATH_MAX], struct mf_error *err);

/*
 * Finds libmassif-preload.so: at $MASSIF_PRELOAD, next to massif-ctl, or in ../lib/massif relative to it. Stores the
 * absolute path in *@path, which the caller frees. Returns 0 or -errno.
 */
int mf_shim_find(char **path, struct mf_error *err);

/*
 * Copies @environment with two changes. The shim at @path is added to the front of LD_PRELOAD. MASSIF_SESSION is set to
 * `SESSION@ADDRESS`: the number of the session's descriptor, and the address at which other processes join. @address is
 * NULL if they cannot join; see protocol/join.h. Inside the program, the shim reverts both changes unless the programs
 * that it executes must join, too. The caller frees *@result with mf_shim_free_environment(). Returns 0 or -ENOMEM.
 */
int mf_shim_make_environment(char *const *environment, const char *path, int session,
			     const char *address, char ***result, struct mf_error *err);
void mf_shim_free_environment(char **environment);

#endif
