/* SPDX-License-Identifier: GPL-2.0 */
/* Loads and unloads massif.ko and the test modules. */
#ifndef MASSIF_SELFTESTS_KMOD_MODULE_H
#define MASSIF_SELFTESTS_KMOD_MODULE_H

#include <stddef.h>

/* Loads massif.ko, or the file $MASSIF_KO, with insmod-style parameters. Returns 0 or -errno. */
int kmod_module_load(const char *parameters);

/*
 * Reads the file that kmod_module_load() would load. Returns its contents, to be freed, and their size in *@bytes; NULL
 * if the file cannot be read.
 */
void *kmod_module_read(size_t *bytes);

/* Loads massif.ko from memory, so that no file is read. Returns 0 or -errno. */
int kmod_module_load_image(const void *image, size_t bytes, const char *parameters);

/* Loads a test module, @name without .ko; succeeds if it is already loaded. */
int kmod_module_load_own(const char *name);

/* Returns 0 or -errno: -EWOULDBLOCK while the module is in use. */
int kmod_module_unload(const char *name);

/* Unloads the module. Retries, because a thread that is returning to user mode may still hold a reference. */
int kmod_module_unload_soon(const char *name);

/* Returns the number of users of massif.ko; -1 if it is not loaded. */
int kmod_module_users(void);

#endif
