/* SPDX-License-Identifier: GPL-2.0 */
/* The environment that the program began with: on its initial stack, which is also what libc's environ is. */
#ifndef MASSIF_PRELOAD_ENVIRONMENT_H
#define MASSIF_PRELOAD_ENVIRONMENT_H

/* The array, where libc may not know of it yet. */
char **mf_environment(void);

/* The value of the last variable @name of it, which is the one that counts for the dynamic linker; NULL: none. */
char *mf_environment_find(const char *name);

/* Takes massif-ctl's variables away; nothing else moves. Before the program can have looked. */
void mf_environment_clean(void);

#endif
