/* SPDX-License-Identifier: GPL-2.0 */
/* Loads and unloads massif.ko, and what else the tests need in the kernel. */
#ifndef SELFTESTS_LIB_KMOD_MODULE_H
#define SELFTESTS_LIB_KMOD_MODULE_H

/* massif.ko, or $MASSIF_KO, with parameters as for insmod. 0 or -errno. */
int kmod_module_load(const char *parameters);

/* The tests' own, name without .ko: what is loaded already is as good. */
int kmod_module_load_own(const char *name);

/* 0 or -errno: -EWOULDBLOCK while it is in use. */
int kmod_module_unload(const char *name);

/* The same, with patience: a thread that is about to return to user mode may hold it a moment longer. */
int kmod_module_unload_soon(const char *name);

/* How many users massif.ko has; -1 if it is not loaded. */
int kmod_module_users(void);

#endif
