/* SPDX-License-Identifier: GPL-2.0 */
/* A common information entry (CIE): the part of unwind rules that several functions share. */
#ifndef MASSIF_CFI_CIE_H
#define MASSIF_CFI_CIE_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf.h"

struct mf_cie {
	struct mf_dwarf program; /* the CIE's own instructions */
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t encoding; /* encoding of the addresses in the CIE's FDEs, DW_EH_PE_* */
	bool augmented;	  /* the CIE's FDEs also have augmentation data */
	bool signal;	  /* the frames of the functions that use this CIE are signal frames */
};

/*
 * Reads a CIE of .eh_frame or .debug_frame. @entry contains its bytes after the identifier. Returns false if the CIE is
 * truncated or in an unknown format.
 */
bool mf_cie_read(struct mf_dwarf entry, struct mf_cie *cie);

#endif
