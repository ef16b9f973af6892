/* SPDX-License-Identifier: GPL-2.0 */
/* How one return address's frame is undone, as the object's .eh_frame tells. */
#ifndef MASSIF_PRELOAD_CFI_H
#define MASSIF_PRELOAD_CFI_H

#include <stdbool.h>
#include <stdint.h>

enum mf_cfa_kind {
	MF_CFA_UNKNOWN,	    /* told in a way that needs a full interpreter */
	MF_CFA_NONE,	    /* nothing is told of this code: it has no tables */
	MF_CFA_END,	    /* the outermost frame: the return address is undefined */
	MF_CFA_SP,	    /* CFA = stack pointer + offset */
	MF_CFA_FP,	    /* CFA = frame register + offset */
	MF_CFA_FP_INDIRECT, /* CFA = what is stored at frame register + offset (realigned stacks) */
	MF_CFA_SIGNAL,	    /* a signal frame: the interrupted registers lie at the stack pointer */
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

/* The rule for the code at @pc (not a return address: subtract 1 from one). Takes no lock. */
struct mf_cfi_rule mf_cfi_find(uint64_t pc);

/* Does the description of some code begin at @pc, exactly? */
bool mf_cfi_is_start(uint64_t pc);

#endif
