/* SPDX-License-Identifier: GPL-2.0 */
/* Takes over the allocation functions that the program, or a library of it, defines itself. */
#ifndef MASSIF_PRELOAD_TAKEOVER_H
#define MASSIF_PRELOAD_TAKEOVER_H

#include <link.h>
#include <stdbool.h>

/*
 * Their calls are counted as those of the C library's are; what they do, they do as ever. See arrival.h
 * for when these are called.
 */
void mf_takeover_arrived(const struct dl_phdr_info *object);
void mf_takeover_done(void);

/* Whether there are any: then blocks come from more than one allocator. */
bool mf_takeover_is_any(void);

/* Blocks of allocators of which nothing is known are so far apart at least. */
#define MF_TAKEOVER_DISTANCE 16u

#endif
