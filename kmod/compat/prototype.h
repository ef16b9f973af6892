/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks that kernel functions and tracepoints that are found by name have the prototypes that the module
 * expects.
 */
#ifndef MASSIF_COMPAT_PROTOTYPE_H
#define MASSIF_COMPAT_PROTOTYPE_H

#include <linux/init.h>
#include <linux/types.h>

/**
 * massif_prototype_init() - compare all prototypes with the type information of the running kernel, if it has
 * any.
 * Context: process context, when the module is loaded; may sleep.
 * Return: 0, even if there was nothing to compare with; or -ENOMEM.
 */
int __init massif_prototype_init(void);

/**
 * massif_prototype_other() - get the first function or tracepoint with an unexpected prototype.
 * Return: the name, or NULL if there is none.
 */
const char *massif_prototype_other(void);

/**
 * massif_prototype_same() - check whether a prototype was compared and is the expected one.
 * @name: name of the function or tracepoint.
 */
bool massif_prototype_same(const char *name);

#endif
