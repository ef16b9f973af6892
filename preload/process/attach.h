/* SPDX-License-Identifier: GPL-2.0 */
/* Starts the shim in a process. */
#ifndef MASSIF_PRELOAD_ATTACH_H
#define MASSIF_PRELOAD_ATTACH_H

/*
 * Attaches this process to its session if massif-ctl started it; only the first call does anything. Called before the
 * first event or by the constructor, whichever comes first. Removes massif-ctl's variables from the environment, so
 * that programs executed later are not profiled, unless the user asked for that.
 */
void mf_attach(void);

#endif
