/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the .eh_frame entry (FDE) that describes a code address. */
#ifndef MASSIF_CFI_DESCRIPTION_H
#define MASSIF_CFI_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cie.h"
#include "dwarf.h"

/* An object in memory: loaded, or read from its file into the same layout. Only the tables have to be present. */
struct mf_rows_object {
	const uint8_t *start, *end;
	const uint8_t *header; /* the object's .eh_frame_hdr, or NULL if it has none */
	const uint8_t *frames; /* only if there is no .eh_frame_hdr: the object's .eh_frame, or NULL if it has none */
	uint64_t frames_size;
};

/* An FDE, parsed up to its instructions. It describes the @size bytes of code at @begin. */
struct mf_description {
	struct mf_cie cie;
	struct mf_dwarf program;
	uint64_t begin, size;
};

enum mf_description_found {
	MF_DESCRIPTION_NONE,	/* all described code is above @pc, or no code is described */
	MF_DESCRIPTION_FOUND,
	MF_DESCRIPTION_UNKNOWN, /* the tables have a format that we do not support */
};

/*
 * Finds the FDE that describes the code at @pc or, if that code has none, the FDE of the nearest described code below
 * @pc. Reads nothing outside @object.
 */
enum mf_description_found mf_description_find(const struct mf_rows_object *object, uint64_t pc,
					      struct mf_description *found);

/* Returns whether @pc is in the code covered by the FDE @description. */
static inline bool mf_description_holds(const struct mf_description *description, uint64_t pc)
{
	return pc >= description->begin && pc - description->begin < description->size;
}

#endif
