/* SPDX-License-Identifier: GPL-2.0 */
/* The unwind tables of objects that have no sorted index of them (linked with --no-eh-frame-hdr). */
#ifndef MASSIF_PRELOAD_EH_FRAME_H
#define MASSIF_PRELOAD_EH_FRAME_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi/rows.h"

/*
 * Called for each object that has come, from @start to @end, by one caller at a time and before code of the object
 * runs. Reads the object's file if it has no index and @may_open says that the program's sandbox allows that.
 */
void mf_eh_frame_arrived(const struct dl_phdr_info *object, uint64_t start, uint64_t end, bool may_open);

/* What was from @start to @end is not there any more. Called as mf_eh_frame_arrived(). */
void mf_eh_frame_gone(uint64_t start, uint64_t end);

/* Finds the tables for the code at @pc, whose object has no index. Takes no lock. False: none are known. */
bool mf_eh_frame_find(uint64_t pc, struct mf_rows_object *object);

#endif
