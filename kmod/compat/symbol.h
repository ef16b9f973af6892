/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of the kernel by name, exported or not. */
#ifndef MASSIF_COMPAT_SYMBOL_H
#define MASSIF_COMPAT_SYMBOL_H

#include <linux/types.h>

/*
 * Where a kprobe on the function would go: its first instruction, behind one for indirect calls. *owned: whether
 * ftrace owns that place. 0 or -errno, if no probe is allowed there or there is no such function. May sleep.
 */
int massif_symbol_find(const char *name, unsigned long *at, bool *owned);

#endif
