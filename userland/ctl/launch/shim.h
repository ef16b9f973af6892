/* SPDX-License-Identifier: GPL-2.0 */
/* The preload shim: where it is, and the environment that makes a program load it. */
#ifndef MASSIF_CTL_SHIM_H
#define MASSIF_CTL_SHIM_H

#include "base/error.h"

/*
 * The absolute path of libmassif-preload.so: $MASSIF_PRELOAD, or beside massif-ctl, or in its
 * ../lib/massif. *@path is to be released with free(). Returns 0 or -errno.
 */
int mf_shim_find(char **path, struct mf_error *err);

/*
 * A copy of @environment with the shim at @path in front of LD_PRELOAD, and with MASSIF_SESSION:
 * the number of the session's descriptor, and @address, where others can join (NULL: nowhere; see
 * protocol/join.h). The shim undoes both, or leaves them for what is to join. *@result is to be released with
 * mf_shim_free_environment(). Returns 0 or -ENOMEM.
 */
int mf_shim_make_environment(char *const *environment, const char *path, int session,
			     const char *address, char ***result, struct mf_error *err);
void mf_shim_free_environment(char **environment);

#endif
