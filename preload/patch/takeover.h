/* SPDX-License-Identifier: GPL-2.0 */
/* Takes over the allocation functions that the program or one of its libraries defines. */
#ifndef MASSIF_PRELOAD_TAKEOVER_H
#define MASSIF_PRELOAD_TAKEOVER_H

#include <link.h>
#include <stdbool.h>

/*
 * Their calls are counted like those of the C library's functions, and they behave as before. For when these are
 * called, see object_loaded.h.
 */
void mf_takeover_arrived(const struct dl_phdr_info *object);
void mf_takeover_done(void);

/* Does the program have such functions? Then blocks come from more than one allocator. */
bool mf_takeover_is_any(void);

/* Smallest distance of two blocks of an unknown allocator, in bytes. */
#define MF_TAKEOVER_DISTANCE 16u

#endif
