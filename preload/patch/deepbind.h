/* SPDX-License-Identifier: GPL-2.0 */
/* Handles objects loaded with RTLD_DEEPBIND, which would otherwise find the C library's functions before the shim's. */
#ifndef MASSIF_PRELOAD_DEEPBIND_H
#define MASSIF_PRELOAD_DEEPBIND_H

#include <stdbool.h>

#include "core/definitions.h"

/*
 * mf_deepbind_is_wanted() returns whether the current thread is in a dlopen() call with RTLD_DEEPBIND. Call
 * mf_deepbind_done() once all objects loaded by that dlopen() have been handled, because the C library may later load
 * objects for its own use without calling the shim's dlopen().
 */
bool mf_deepbind_is_wanted(void);
void mf_deepbind_done(void);

/*
 * Binds the object's references to @name to @ours, unless it defines @name itself. Call this before the object is
 * relocated.
 */
void mf_deepbind_bind(const struct mf_definitions *object, const char *name, const void *ours);

#endif
