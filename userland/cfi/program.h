/* SPDX-License-Identifier: GPL-2.0 */
/* What the instructions of a description say: where the registers of a frame's caller are. */
#ifndef MASSIF_UNWIND_PROGRAM_H
#define MASSIF_UNWIND_PROGRAM_H

#include <stdint.h>

#include "description.h"

enum mf_place_kind {
	MF_PLACE_KEPT,	     /* the frame has not changed it */
	MF_PLACE_UNDEFINED,
	MF_PLACE_AT_CFA,     /* it is stored at CFA + offset */
	MF_PLACE_CFA,	     /* it is CFA + offset */
	MF_PLACE_REGISTER,   /* it is what another register holds, + offset */
	MF_PLACE_EXPRESSION, /* it is stored where the expression says */
	MF_PLACE_VALUE,	     /* it is what the expression gives */
	MF_PLACE_UNKNOWN,    /* it is told in a way that we do not know */
};

#define MF_PLACE_NO_REGISTER 255u

struct mf_place {
	uint8_t kind;	     /* enum mf_place_kind */
	uint8_t reg;	     /* DWARF's number; MF_PLACE_NO_REGISTER: one that there is not */
	uint32_t expression; /* bytes of it, which end at @end */
	union {
		int64_t offset;
		const uint8_t *end;
	};
};

/* The bytes of a place's expression. */
static inline struct mf_dwarf mf_place_expression(const struct mf_place *place)
{
	return (struct mf_dwarf){ place->end - place->expression, place->end };
}

#define MF_PROGRAM_REGISTERS 2u

/* The places of the CFA and of the registers that were asked for. */
struct mf_program_state {
	struct mf_place cfa;
	struct mf_place of[MF_PROGRAM_REGISTERS];
};

/*
 * What holds for the code at @pc, which @description is of, of the registers whose DWARF numbers are in @wanted.
 * Of a register that nothing is said of: it is kept, and the return address is at CFA - 8. [@*start, @*end) are the
 * addresses for which that holds, too.
 */
struct mf_program_state mf_program_run(const struct mf_description *description,
				       const uint8_t wanted[MF_PROGRAM_REGISTERS], uint64_t pc, uint64_t *start,
				       uint64_t *end);

#endif
