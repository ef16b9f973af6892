/* SPDX-License-Identifier: GPL-2.0 */
/* Locates the preload shim and builds the environment that loads it. */
#ifndef MASSIF_CTL_SHIM_H
#define MASSIF_CTL_SHIM_H

#include "base/error.h"

/*
 * Finds libmassif-preload.so: at $MASSIF_PRELOAD, next to massif-ctl, or in ../lib/massif relative to it. Stores the
 * absolute path in *@path, which the caller frees. Returns 0 or -errno.
 */
int mf_shim_find(char **path, struct mf_error *err);

/*
 * Copies @environment with two changes. The shim at @path is added to the front of LD_PRELOAD. MASSIF_SESSION is set to
 * the number of the session's descriptor and @address, at which other processes join (NULL if they cannot; see
 * protocol/join.h). Inside the program, the shim reverts both changes, or keeps them if the programs that it executes
 * are to join. The caller frees *@result with mf_shim_free_environment(). Returns 0 or -ENOMEM.
 */
int mf_shim_make_environment(char *const *environment, const char *path, int session,
			     const char *address, char ***result, struct mf_error *err);
void mf_shim_free_environment(char **environment);

#endif
