/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The unwind rules of an object in a single format of our own. The process that reads the file translates its .eh_frame
 * and .debug_frame, which come in many forms; the process that unwinds checks the result and uses it.
 *
 * The rules are a sequence of CIEs and FDEs, as in .eh_frame. The augmentation of a CIE is "zR", or "zRS" for signal
 * frames. Addresses in FDEs are four bytes long and relative to @base. An instruction that is not safe for libunwind
 * (check.h) is replaced by MF_CFI_STOP_OPCODE, and the instructions after it are omitted.
 */
#ifndef MASSIF_CFI_INDEX_H
#define MASSIF_CFI_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cie.h"

#define MF_CFI_RULES_MAX (256u << 20) /* maximum size of the rules of one object in bytes */

/* An entry of a search table. */
struct mf_cfi_entry {
	uint32_t start; /* start of the code, as an offset from @base of the object's rules */
	uint32_t rules; /* offset of the code's FDE in the rules */
};

enum mf_cfi_table {
	MF_CFI_LISTED, /* FDEs listed in .eh_frame_hdr */
	MF_CFI_OTHER,  /* FDEs of .debug_frame and, if there is no .eh_frame_hdr, of .eh_frame */
	MF_CFI_TABLES,
};

struct mf_cfi {
	uint64_t base; /* lowest link-time address of the object; start addresses are relative to it */
	/* search tables, sorted by start address; MF_CFI_LISTED is searched first */
	const struct mf_cfi_entry *entries[MF_CFI_TABLES];
	uint32_t n_entries[MF_CFI_TABLES];
	const uint8_t *rules;
	uint32_t size; /* size of @rules in bytes, a multiple of 8 */
};

/* The rules found for an address. */
struct mf_cfi_found {
	/* offset of the FDE in the object's rules; the FDE and its CIE are known to be safe (check.h) */
	uint32_t rules;
	uint64_t begin, size; /* link-time address of the FDE's code, and the size of this code in bytes */
	bool signal;	      /* the CIE marks this as a signal frame: the caller was interrupted */
};

/*
 * Finds the rules for the code at the link-time address @address. The array sizes in @cfi must be correct; all its
 * other contents may be damaged. Returns false if there are no rules or they are not safe to use.
 */
bool mf_cfi_find(const struct mf_cfi *cfi, uint64_t address, struct mf_cfi_found *found);

struct mf_cfi_builder;

/*
 * Starts translating the unwind rules of an object into a struct mf_cfi; mf_cfi_end() finishes the translation. @base
 * is the lowest link-time address of the object. Returns NULL if out of memory.
 */
struct mf_cfi_builder *mf_cfi_begin(uint64_t base);

/* Add all FDEs of a .debug_frame section, or of an .eh_frame section loaded at @address. */
void mf_cfi_add_debug_frame(struct mf_cfi_builder *builder, const uint8_t *bytes, size_t size);
void mf_cfi_add_eh_frame(struct mf_cfi_builder *builder, const uint8_t *bytes, size_t size,
			 uint64_t address);

/*
 * Returns the contents of the CIE or FDE at link-time address @address, without the length field. Sets @overrun if
 * there is none. The bytes must stay valid until mf_cfi_end().
 */
typedef struct mf_dwarf mf_cfi_read_entry(void *data, uint64_t address);

/* Adds the FDE at link-time address @fde, which .eh_frame_hdr lists for the code that begins at @start. */
void mf_cfi_add_listed(struct mf_cfi_builder *builder, uint64_t start, uint64_t fde, mf_cfi_read_entry *read,
		       void *data);

/*
 * Finishes the translation and frees the builder. Returns false and leaves *@cfi empty if there were no rules, if they
 * exceed MF_CFI_RULES_MAX, or if out of memory. mf_cfi_deinit() frees *@cfi.
 */
bool mf_cfi_end(struct mf_cfi_builder *builder, struct mf_cfi *cfi);
void mf_cfi_deinit(struct mf_cfi *cfi);

#endif
