/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of an ELF file that unwinding needs, in one contiguous block. An unprivileged process builds the summary
 * from the file (elf/file.h). The process that unwinds checks the summary and uses it instead of the file.
 */
#ifndef MASSIF_ELF_SUMMARY_H
#define MASSIF_ELF_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/index.h"
#include "elf/file.h"
#include "profile/object.h"

struct mf_elf_summary {
	uint64_t magic;
	/* lowest link-time address of the object (struct mf_cfi), to which addresses in the rules are relative */
	uint64_t base;
	uint64_t entry; /* link-time address of the entry point (e_entry) */
	uint32_t is_elf; /* 0 if the file is not an ELF file for this machine; then the rest of the summary is empty */
	uint32_t n_segments;
	uint32_t n_entries[MF_CFI_TABLES];
	uint32_t rules_bytes; /* size of the unwind rules in bytes, a multiple of 8 */
	uint8_t build_id_size; /* 0 if the file has no build id */
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t reserved[7];
	/* This header is followed by the segments, the entries of each search table, and the unwind rules. */
};

/* Maximum size of a summary in bytes. */
#define MF_ELF_SUMMARY_MAX (2ull * MF_CFI_RULES_MAX)

/*
 * Builds the summary of @binary, which is NULL if the file is not an ELF file. Returns *@size bytes, which the caller
 * frees, or NULL if out of memory.
 */
struct mf_elf_summary *mf_elf_summary_make(struct mf_elf_file *binary, size_t *size);

/*
 * Returns whether the @size bytes at @summary, aligned to 8 bytes, are a valid summary. Does not check the rules;
 * mf_cfi_find() does that.
 */
bool mf_elf_summary_is_sound(const struct mf_elf_summary *summary, size_t size);

/*
 * Returns the unwind rules and their search tables in @summary, which must be valid (mf_elf_summary_is_sound()). The
 * result points into @summary.
 */
struct mf_cfi mf_elf_summary_cfi(const struct mf_elf_summary *summary);

/*
 * Stores in *@address the link-time address of the byte at @offset of the file. Returns false if that byte is not
 * loaded.
 */
bool mf_elf_summary_address(const struct mf_elf_summary *summary, uint64_t offset, uint64_t *address);

#endif
