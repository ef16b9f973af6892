/* SPDX-License-Identifier: GPL-2.0 */
/* Takes over the allocation functions that the program or one of its libraries defines. */
#ifndef MASSIF_PRELOAD_TAKEOVER_H
#define MASSIF_PRELOAD_TAKEOVER_H

#include <link.h>
#include <stdbool.h>

/*
 * mf_takeover_arrived() takes over the allocation functions of a newly loaded object; mf_takeover_done() completes this
 * once all new objects have arrived. From then on, calls to these functions are counted like calls to the C library's;
 * their behaviour does not change. Called by object_loaded.c.
 */
void mf_takeover_arrived(const struct dl_phdr_info *object);
void mf_takeover_done(void);

/*
 * Returns whether the program has its own allocation functions. If it does, blocks come from more than one allocator.
 */
bool mf_takeover_is_any(void);

/*
 * Assumed minimum distance in bytes between two blocks of an allocator that the shim does not know; see
 * mf_blocks_set_distance().
 */
#define MF_TAKEOVER_DISTANCE 16u

#endif
