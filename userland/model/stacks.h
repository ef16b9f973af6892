/* SPDX-License-Identifier: GPL-2.0 */
/* Counts the threads' stacks as memory, for --stacks=yes. There is one sum for all threads. */
#ifndef MASSIF_MODEL_STACKS_H
#define MASSIF_MODEL_STACKS_H

#include <stdint.h>

#include "model/store.h"

/*
 * Adds @change (bytes, may be negative) to the size of the stacks. As in Massif, this affects the totals, the clock,
 * the peak and the next snapshot like any other event. There must be only one writer at a time. For @now, see heap.h.
 */
void mf_stacks_change(struct mf_store *store, int64_t change, int64_t now);

/*
 * Subtracts @bytes of stacks that no longer exist, for example those of other threads after a fork. The clock does not
 * advance.
 */
void mf_stacks_drop(struct mf_store *store, uint64_t bytes);

#endif
