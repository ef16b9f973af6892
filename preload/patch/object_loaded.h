/* SPDX-License-Identifier: GPL-2.0 */
/* Objects that come into the program: each is looked at before its own code runs. */
#ifndef MASSIF_PRELOAD_ARRIVAL_H
#define MASSIF_PRELOAD_ARRIVAL_H

/*
 * Looks at the objects that are there, and from then on at those that are loaded: when they have been
 * mapped, with what they depend on, and nothing of them has been relocated or has run. What is done
 * with each is arrival.c's table. While there is one thread. Returns 0; or -errno if objects that are
 * loaded later will not be looked at.
 */
int mf_object_loaded_start(void);

#endif
