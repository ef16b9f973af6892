/* SPDX-License-Identifier: GPL-2.0 */
/* The numbers of DWARF's tables, read one after another from bytes that may be damaged. */
#ifndef MASSIF_CFI_DWARF_H
#define MASSIF_CFI_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DWARF's numbers of x86-64's registers, as far as they have a meaning of their own. */
enum { MF_DWARF_RBP = 6, MF_DWARF_RSP = 7, MF_DWARF_RA = 16 };

/* What is still to be read. Of what goes beyond @end, zeros are read, the reader is at its end, and @overrun is set. */
struct mf_dwarf {
	const uint8_t *at, *end;
	bool overrun;
};

uint64_t mf_dwarf_fixed(struct mf_dwarf *reader, size_t size);
uint64_t mf_dwarf_uleb(struct mf_dwarf *reader);
int64_t mf_dwarf_sleb(struct mf_dwarf *reader);

/* A pointer in one of the encodings that .eh_frame uses; only plain and pc-relative ones. */
uint64_t mf_dwarf_encoded(struct mf_dwarf *reader, uint8_t encoding);

/* Bytes behind their number; none if there are not so many. */
struct mf_dwarf mf_dwarf_block(struct mf_dwarf *reader);

#endif
