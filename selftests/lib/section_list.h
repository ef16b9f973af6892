/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sections of a recording without compression and checksums, so that a fuzzer can change their contents. For each section,
 * a list has its type (a byte), its length (two bytes, little-endian) and its contents.
 */
#ifndef MASSIF_SELFTESTS_SECTION_LIST_H
#define MASSIF_SELFTESTS_SECTION_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct section_list_part {
	uint32_t type; /* enum mf_section_type, 0, or MF_SECTION_TYPES, which no reader knows */
	const uint8_t *data;
	size_t size;
};

/*
 * Takes the next section from @list. Whatever the list consists of, it is one of sections: numbers that are too large are
 * reduced, and bytes that are missing are 0. Returns false at the end of the list.
 */
bool section_list_take(struct mf_cursor *list, struct section_list_part *part);

/* Writes the recording with the sections of @list to @file, which the caller frees. Returns false if out of memory. */
bool section_list_seal(struct mf_cursor list, struct mf_bytes *file);

/*
 * Appends the sections of the recording @file to @list. Returns false if it is not a recording, if a section does not fit in
 * a list, or if out of memory.
 */
bool section_list_open(const struct mf_bytes *file, struct mf_bytes *list);

#endif
