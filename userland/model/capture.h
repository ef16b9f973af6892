/* SPDX-License-Identifier: GPL-2.0 */
/* The live bytes of all contexts at the time of a detailed snapshot. */
#ifndef MASSIF_MODEL_CAPTURE_H
#define MASSIF_MODEL_CAPTURE_H

#include <stdint.h>

#include "model/store.h"

/* Captures the contexts as they are. Returns a handle, or 0 when the store is full. */
uint32_t mf_capture_take(struct mf_store *store);

/* Gives the memory of a capture back; 0 is allowed. */
void mf_capture_release(struct mf_store *store, uint32_t capture);

/*
 * Copies the bytes of the contexts MF_CONTEXT_FIRST, +1, ... to @bytes, at most @max values. Returns
 * how many contexts the capture holds. Safe against damaged memory.
 */
uint32_t mf_capture_read(const struct mf_store *store, uint32_t capture, uint64_t *bytes,
			 uint32_t max);

/*
 * Copies in the same way the bytes that the contexts have now, each read once: together they are those
 * of one moment only while nobody writes. Returns how many contexts there are.
 */
uint32_t mf_capture_present(const struct mf_store *store, uint64_t *bytes, uint32_t max);

#endif
