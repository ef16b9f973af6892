/* SPDX-License-Identifier: GPL-2.0 */
/* Objects that are loaded with RTLD_DEEPBIND: they would find the C library's functions before ours. */
#ifndef MASSIF_PRELOAD_DEEPBIND_H
#define MASSIF_PRELOAD_DEEPBIND_H

#include <stdbool.h>

#include "core/definitions.h"

/*
 * Whether the object that has just come, in this thread, was loaded so; and when all have come that this
 * dlopen brought: the C library loads others without asking by that name.
 */
bool mf_deepbind_is_wanted(void);
void mf_deepbind_done(void);

/* Before it is relocated: @ours is what its references to @name are bound to, if it does not define it. */
void mf_deepbind_bind(const struct mf_definitions *object, const char *name, const void *ours);

#endif
