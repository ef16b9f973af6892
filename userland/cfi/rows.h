/* SPDX-License-Identifier: GPL-2.0 */
/* Call frame information as rows: for which addresses holds which rule. */
#ifndef MASSIF_UNWIND_ROWS_H
#define MASSIF_UNWIND_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "description.h"

enum mf_cfa_kind {
	MF_CFA_UNKNOWN,	    /* told in another way than these: see frame.h */
	MF_CFA_NONE,	    /* nothing is told of this code: it has no tables */
	MF_CFA_END,	    /* the outermost frame: the return address is undefined */
	MF_CFA_SP,	    /* CFA = stack pointer + offset */
	MF_CFA_FP,	    /* CFA = frame register + offset */
	MF_CFA_FP_INDIRECT, /* CFA = what is stored at frame register + offset (realigned stacks) */
	MF_CFA_SIGNAL,	    /* a signal frame: the interrupted registers lie at the stack pointer */
	MF_CFA_FP_LINK,	    /* CFA = what is stored at frame register, + offset: that of the frame to which it is linked */
	MF_CFA_BORDER,	    /* as MF_CFA_NONE, before code of which something is told; never in a file */
};

enum mf_fp_kind {
	MF_FP_KEPT,	/* the frame register is the caller's already */
	MF_FP_AT_CFA,	/* saved at CFA + offset */
	MF_FP_AT_FP,	/* saved at frame register + offset */
};

/*
 * The return address is always at CFA - 8: where a row says otherwise it is MF_CFA_UNKNOWN. The
 * frame register is rbp.
 */
struct mf_cfi_rule {
	int32_t cfa_offset;
	int16_t fp_offset;
	uint8_t cfa; /* enum mf_cfa_kind */
	uint8_t fp;  /* enum mf_fp_kind */
};

/* A rule, and the addresses that it holds for: from @start to @end, exclusive. */
struct mf_row {
	uint64_t start, end;
	struct mf_cfi_rule rule;
};

/*
 * The row for the code at @pc (not a return address: subtract 1 from one). Of a rule that is
 * MF_CFA_UNKNOWN or MF_CFA_NONE the addresses are not told. Takes no lock, and reads nothing outside
 * @object.
 */
struct mf_row mf_rows_find(const struct mf_rows_object *object, uint64_t pc);

/* Does the description of some code begin at @pc, exactly? */
bool mf_rows_is_start(const struct mf_rows_object *object, uint64_t pc);

#endif
