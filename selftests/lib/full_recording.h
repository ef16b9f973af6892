/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes recordings of made-up processes that together have every section and nearly every kind of name, thread, sample and
 * stack that a recording can have. They are small, the same each time, and written by massif's own writer.
 */
#ifndef MASSIF_SELFTESTS_FULL_RECORDING_H
#define MASSIF_SELFTESTS_FULL_RECORDING_H

#include <stdbool.h>

#include "base/bytes.h"

/* The recordings. */
enum full_recording {
	FULL_RECORDING_HEAP,	/* heap mode: details, the sums of each thread, and samples of the resident set */
	FULL_RECORDING_TOUCHES, /* the same with threads kept apart, and with the code that touched pages first */
	FULL_RECORDING_PAGES,	/* pages mode */
	FULL_RECORDING_FAMILY,	/* three processes: with first touches, with samples only, and without either */
	FULL_RECORDINGS,
};

extern const char *const full_recording_names[FULL_RECORDINGS];

/* Appends the recording to @file, which the caller frees. Returns false if out of memory. */
bool full_recording_write(enum full_recording which, struct mf_bytes *file);

#endif
