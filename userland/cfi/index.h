/* SPDX-License-Identifier: GPL-2.0 */
/* An index of unwind rules for files that have none that can be searched, or not for all code. */
#ifndef MASSIF_PAGES_CFI_H
#define MASSIF_PAGES_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes that look as if the file had them at @address (of its own, beyond all that it has): rules in
 * the format of .eh_frame, and a table as in .eh_frame_hdr, whose offsets are from @address.
 */
struct mf_cfi {
	uint64_t address;
	uint8_t *bytes;
	size_t size; /* multiple of 8 */
	uint64_t table;
	uint64_t n_entries;
};

struct mf_cfi_builder;

/* NULL when memory ran out. @address is a multiple of 8. */
struct mf_cfi_builder *mf_cfi_begin(uint64_t address);

/* Adds what is in a section: .debug_frame is translated, .eh_frame, loaded at @address, indexed. */
void mf_cfi_add_debug_frame(struct mf_cfi_builder *builder, const uint8_t *bytes, size_t size);
void mf_cfi_add_eh_frame(struct mf_cfi_builder *builder, const uint8_t *bytes, size_t size,
			 uint64_t address);

/* Ends it. Returns false, with nothing in *@cfi, if there was nothing in the sections. */
bool mf_cfi_end(struct mf_cfi_builder *builder, struct mf_cfi *cfi);

#endif
