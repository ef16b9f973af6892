/* SPDX-License-Identifier: GPL-2.0 */
/* The shim in the dynamic linker's list of objects. */
#ifndef MASSIF_PRELOAD_OWN_OBJECT_H
#define MASSIF_PRELOAD_OWN_OBJECT_H

#include <link.h>

/* Returns the shim's entry, or NULL. Its name is the path by which the shim was preloaded. */
struct link_map *mf_own_object(void);

#endif
