/* SPDX-License-Identifier: GPL-2.0 */
/* Finds kernel functions by name, exported or not. */
#ifndef MASSIF_COMPAT_SYMBOL_H
#define MASSIF_COMPAT_SYMBOL_H

#include <linux/types.h>

/**
 * massif_symbol_find() - find the address where a kprobe on a function would be placed.
 * @name: name of the function.
 * @at: set to the address of its first instruction, after ENDBR, if the function has one.
 * @owned: set to true if ftrace controls that instruction.
 * Context: process context; sleeps.
 * Return: 0, or -errno if there is no such function or no probe is allowed there.
 */
int massif_symbol_find(const char *name, unsigned long *at, bool *owned);

#endif
