/* SPDX-License-Identifier: GPL-2.0 */
/* The start of the shim in a process. */
#ifndef MASSIF_PRELOAD_ATTACH_H
#define MASSIF_PRELOAD_ATTACH_H

/*
 * Attaches if massif-ctl started this program; does its work once. Called at the first event and by
 * the constructor, whichever comes first. Takes our variables out of the environment, so that what
 * the program executes is not profiled; unless it is to be, too.
 */
void mf_attach(void);

#endif
