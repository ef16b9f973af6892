/* SPDX-License-Identifier: GPL-2.0 */
/* Redirects a loaded object's calls to a function, so that they go to one of the shim's functions instead. */
#ifndef MASSIF_PRELOAD_REDIRECT_H
#define MASSIF_PRELOAD_REDIRECT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * In the object loaded at @base, binds all references to the function @name to @ours. The references in other objects
 * stay as they are.
 * Context: none of the object's code has run yet.
 * Return: false if a reference could not be written.
 */
bool mf_redirect(uint64_t base, const char *name, const void *ours);

#endif
