/* SPDX-License-Identifier: GPL-2.0 */
/* Gives a forked child a copy of the profile, at its first event. */
#ifndef MASSIF_PRELOAD_FORK_H
#define MASSIF_PRELOAD_FORK_H

/*
 * Registers the fork handlers. Must be called before the program registers its own: the program's handlers then run
 * outside of the shim's, and may allocate.
 */
void mf_fork_start(void);

#endif
