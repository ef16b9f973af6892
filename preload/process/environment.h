/* SPDX-License-Identifier: GPL-2.0 */
/* The program's original environment, on its initial stack. libc's environ points to it, too. */
#ifndef MASSIF_PRELOAD_ENVIRONMENT_H
#define MASSIF_PRELOAD_ENVIRONMENT_H

/* Returns the array of environment variables. Works even before libc has set environ. */
char **mf_environment(void);

/*
 * Returns the value of the last occurrence of the variable @name, which is the one that the dynamic linker uses, or
 * NULL if there is none.
 */
char *mf_environment_find(const char *name);

/*
 * Removes massif-ctl's variables without moving any others. @shim: its path, as in LD_PRELOAD. Call this before the program
 * can read the environment.
 */
void mf_environment_clean(const char *shim);

#endif
