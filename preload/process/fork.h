/* SPDX-License-Identifier: GPL-2.0 */
/* A forked child goes on with a copy of the profile, from its first event on. */
#ifndef MASSIF_PRELOAD_FORK_H
#define MASSIF_PRELOAD_FORK_H

/* Before any handler of the program's own: theirs run outside of ours, and may allocate. */
void mf_fork_start(void);

#endif
