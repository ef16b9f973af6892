/* SPDX-License-Identifier: GPL-2.0 */
/* Are the kernel's functions and events, which are found by name, what the code that meets them takes them for? */
#ifndef MASSIF_COMPAT_PROTOTYPE_H
#define MASSIF_COMPAT_PROTOTYPE_H

#include <linux/init.h>
#include <linux/types.h>

/*
 * Compares all of them with the type information of the kernel that runs, where that has some. May sleep. 0, also if
 * there was nothing to compare with, or -ENOMEM.
 */
int __init massif_prototype_init(void);

/* The name of the first that has another prototype than is expected; NULL if none has. */
const char *massif_prototype_other(void);

/* Was that of this function or tracepoint compared, and found to be as expected? */
bool massif_prototype_same(const char *name);

#endif
