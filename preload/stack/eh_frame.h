/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds the unwind tables of objects without a sorted index (linked with --no-eh-frame-hdr) and, if the C library lacks
 * _dl_find_object(), of all objects.
 */
#ifndef MASSIF_PRELOAD_EH_FRAME_H
#define MASSIF_PRELOAD_EH_FRAME_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi/rows.h"

/*
 * Registers an object that was loaded at addresses @start to @end. Called by one thread at a time, before code of the
 * object runs. Reads the object's file if the object has no index and @may_open is true.
 */
void mf_eh_frame_arrived(const struct dl_phdr_info *object, uint64_t start, uint64_t end, bool may_open);

/* Removes the object that was loaded at addresses @start to @end. Called by one thread at a time. */
void mf_eh_frame_gone(uint64_t start, uint64_t end);

/*
 * Finds the unwind tables for the code at @pc, in an object without an index (.eh_frame_hdr) or, if the C library lacks
 * _dl_find_object(), in any object. Returns false if there are none. Takes no lock.
 */
bool mf_eh_frame_find(uint64_t pc, struct mf_rows_object *object);

#endif
