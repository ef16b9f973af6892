/* SPDX-License-Identifier: GPL-2.0 */
/* Gives a forked child a copy of the profile, at its first event. */
#ifndef MASSIF_PRELOAD_FORK_H
#define MASSIF_PRELOAD_FORK_H

/*
 * Registers the fork handlers. Must be called before the program registers its own: the program's prepare handlers then
 * run before the shim's, and its parent and child handlers run after the shim's, so all of the program's handlers can
 * safely allocate.
 */
void mf_fork_start(void);

#endif
