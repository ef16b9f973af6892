/* SPDX-License-Identifier: GPL-2.0 */
/* Runs the call frame instructions of an FDE, which specify where the registers of a frame's caller are. */
#ifndef MASSIF_CFI_PROGRAM_H
#define MASSIF_CFI_PROGRAM_H

#include <stdint.h>

#include "description.h"

enum mf_place_kind {
	MF_PLACE_KEPT,	     /* the frame does not change the register */
	MF_PLACE_UNDEFINED,
	MF_PLACE_AT_CFA,     /* the register's value is stored at CFA + offset */
	MF_PLACE_CFA,	     /* the register's value is CFA + offset */
	MF_PLACE_REGISTER,   /* the register's value is that of another register + offset */
	MF_PLACE_EXPRESSION, /* the register's value is stored at the address that the expression yields */
	MF_PLACE_VALUE,	     /* the register's value is the result of the expression */
	MF_PLACE_UNKNOWN,    /* the register's rule is of an unsupported kind */
};

#define MF_PLACE_NO_REGISTER 255u

struct mf_place {
	uint8_t kind;	     /* how the value of the register or the CFA is found: enum mf_place_kind */
	uint8_t reg;	     /* DWARF register number; MF_PLACE_NO_REGISTER if it is invalid */
	uint32_t expression; /* length in bytes of the DWARF expression, which ends at @end */
	union {
		int64_t offset;
		const uint8_t *end;
	};
};

/* Returns the DWARF expression that computes @place, whose kind must be MF_PLACE_EXPRESSION or MF_PLACE_VALUE. */
static inline struct mf_dwarf mf_place_expression(const struct mf_place *place)
{
	return (struct mf_dwarf){ place->end - place->expression, place->end };
}

#define MF_PROGRAM_REGISTERS 2u

/* How the CFA and the requested registers of the caller are found. */
struct mf_program_state {
	struct mf_place cfa;
	struct mf_place of[MF_PROGRAM_REGISTERS];
};

/*
 * Finds out where the CFA and the registers @wanted (DWARF numbers) are at the code address @pc, which must be covered
 * by @description. A register without a rule is MF_PLACE_KEPT; the return address is at CFA - 8. The result also holds
 * for all addresses in [*@start, *@end).
 */
struct mf_program_state mf_program_run(const struct mf_description *description,
				       const uint8_t wanted[MF_PROGRAM_REGISTERS], uint64_t pc, uint64_t *start,
				       uint64_t *end);

#endif
