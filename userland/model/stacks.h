/* SPDX-License-Identifier: GPL-2.0 */
/* The program's stacks as a part of memory, for --stacks=yes: one sum over all threads. */
#ifndef MASSIF_MODEL_STACKS_H
#define MASSIF_MODEL_STACKS_H

#include <stdint.h>

#include "model/store.h"

/*
 * The stacks have become larger by @change bytes, or smaller. Counts for the totals, the clock, the
 * peak and the next snapshot, as in Massif each change of the stack pointer does. One writer at a
 * time; @now as in heap.h.
 */
void mf_stacks_change(struct mf_store *store, int64_t change, int64_t now);

/* Stacks of @bytes are not there any more, and nobody saw them shrink: no time passes by it. */
void mf_stacks_drop(struct mf_store *store, uint64_t bytes);

#endif
