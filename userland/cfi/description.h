/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the entry (FDE) of .eh_frame that describes some code. */
#ifndef MASSIF_CFI_DESCRIPTION_H
#define MASSIF_CFI_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cie.h"
#include "dwarf.h"

/* An object in memory, loaded or read to the same layout; at least the part that contains its tables. */
struct mf_rows_object {
	const uint8_t *start, *end;
	const uint8_t *header; /* its .eh_frame_hdr; NULL: it has none */
	const uint8_t *frames; /* if there is no .eh_frame_hdr: its .eh_frame, which is searched entry by entry;
			        * NULL: none either */
	uint64_t frames_size;
};

/* An FDE, parsed up to its instructions. It describes @size bytes of code from @begin on. */
struct mf_description {
	struct mf_cie cie;
	struct mf_dwarf program;
	uint64_t begin, size;
};

enum mf_description_found {
	MF_DESCRIPTION_NONE,	/* all described code lies behind @pc, or no code is described */
	MF_DESCRIPTION_FOUND,
	MF_DESCRIPTION_UNKNOWN, /* the tables have a form that we do not support */
};

/*
 * Finds the description of the code at @pc or, if it has none, of the last code before it that has one. Reads nothing
 * outside @object.
 */
enum mf_description_found mf_description_find(const struct mf_rows_object *object, uint64_t pc,
					      struct mf_description *found);

/* Returns whether @pc is in the code that @description describes. */
static inline bool mf_description_holds(const struct mf_description *description, uint64_t pc)
{
	return pc >= description->begin && pc - description->begin < description->size;
}

#endif
