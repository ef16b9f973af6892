/* SPDX-License-Identifier: GPL-2.0 */
/* Call frame information as rows: which unwind rule applies to which addresses. */
#ifndef MASSIF_CFI_ROWS_H
#define MASSIF_CFI_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "description.h"

enum mf_cfa_kind {
	MF_CFA_UNKNOWN,	    /* the rule does not fit into a row; use frame.h, which handles all rules */
	MF_CFA_NONE,	    /* this code has no unwind rules */
	MF_CFA_END,	    /* the outermost frame: the return address is undefined */
	MF_CFA_SP,	    /* CFA = stack pointer + offset */
	MF_CFA_FP,	    /* CFA = frame register + offset */
	/* CFA = the word at address (frame register + offset); occurs in functions that realign the stack */
	MF_CFA_FP_INDIRECT,
	MF_CFA_SIGNAL,	    /* the frame is a signal frame: the interrupted registers are saved at the stack pointer */
	MF_CFA_FP_LINK,	    /* CFA = word at frame register (a saved frame register), plus offset */
	/* the code has no unwind rules and is directly before code that has some; never in a row file */
	MF_CFA_BORDER,
};

enum mf_fp_kind {
	MF_FP_KEPT,	/* the frame register still holds the caller's value */
	MF_FP_AT_CFA,	/* the caller's value of the frame register is saved at CFA + offset */
	MF_FP_AT_FP,	/* the caller's value of the frame register is saved at frame register + offset */
};

/*
 * A rule, restricted to what is common on x86-64: the return address is at CFA - 8, and the frame register is rbp.
 * Anything else is MF_CFA_UNKNOWN.
 */
struct mf_cfi_rule {
	int32_t cfa_offset;
	int16_t fp_offset;
	uint8_t cfa; /* how the CFA is found: enum mf_cfa_kind */
	uint8_t fp;  /* how the caller's frame register is found: enum mf_fp_kind */
};

/* A rule and the addresses it applies to: from @start up to, but not including, @end. */
struct mf_row {
	uint64_t start, end;
	struct mf_cfi_rule rule;
};

/*
 * Returns the row of the code at @pc (subtract 1 from a return address). If the rule is MF_CFA_UNKNOWN or MF_CFA_NONE,
 * the row's addresses are not set. Takes no lock and reads nothing outside @object.
 */
struct mf_row mf_rows_find(const struct mf_rows_object *object, uint64_t pc);

/* Returns whether an FDE covers code that begins exactly at @pc. */
bool mf_rows_is_start(const struct mf_rows_object *object, uint64_t pc);

#endif
