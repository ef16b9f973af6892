/* SPDX-License-Identifier: GPL-2.0 */
/* Looks functions up as the dynamic linker does for a given object, whose order of search may be its own. */
#ifndef MASSIF_PRELOAD_SCOPE_H
#define MASSIF_PRELOAD_SCOPE_H

#include <link.h>

/*
 * Does what dlsym() with @handle (RTLD_DEFAULT or RTLD_NEXT) does if @object calls it. Returns NULL if there is no such
 * function, or if @object has no code.
 */
void *mf_scope_look_up(const struct dl_phdr_info *object, void *handle, const char *name);

#endif
