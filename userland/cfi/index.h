/* SPDX-License-Identifier: GPL-2.0 */
/* Builds an index of unwind rules for files that have no searchable one, or none for some of their code. */
#ifndef MASSIF_CFI_INDEX_H
#define MASSIF_CFI_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Unwind rules as if the file had them at @address, behind all its own addresses: @bytes in the format of .eh_frame,
 * followed by a table as in .eh_frame_hdr whose offsets are relative to @address.
 */
struct mf_cfi {
	uint64_t address;
	uint8_t *bytes;
	size_t size; /* multiple of 8 */
	uint64_t table;
	uint64_t n_entries;
};

struct mf_cfi_builder;

/* Starts an index. @address must be a multiple of 8. Returns NULL if memory ran out. */
struct mf_cfi_builder *mf_cfi_begin(uint64_t address);

/*
 * Add the rules of a section. Those of .debug_frame are translated; those of .eh_frame, which is loaded at @address,
 * are only indexed.
 */
void mf_cfi_add_debug_frame(struct mf_cfi_builder *builder, const uint8_t *bytes, size_t size);
void mf_cfi_add_eh_frame(struct mf_cfi_builder *builder, const uint8_t *bytes, size_t size,
			 uint64_t address);

/*
 * Finishes the index and frees the builder. Returns false, with nothing in *@cfi, if there were no rules or memory ran
 * out.
 */
bool mf_cfi_end(struct mf_cfi_builder *builder, struct mf_cfi *cfi);

#endif
