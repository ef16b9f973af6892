/* SPDX-License-Identifier: GPL-2.0 */
/* An ELF file as far as unwinding needs it: segments, unwind table, build id, bytes. */
#ifndef MASSIF_PAGES_BINARY_H
#define MASSIF_PAGES_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/index.h"
#include "base/held.h"
#include "profile/object.h"

struct mf_elf_file;

/*
 * Opens the ELF file @held, which must outlive it; its bytes are read when they are asked for, a page at a
 * time, and kept. (Not mapped: the file may be truncated under us, and we should not die of it.) Returns NULL
 * if it cannot be read or is not an ELF file of this machine's word size and byte order.
 */
struct mf_elf_file *mf_elf_file_open(const struct mf_held_file *held);

/* The vdso of this process: every process of this kernel has the same. NULL if there is none. */
struct mf_elf_file *mf_elf_file_open_vdso(void);

/* NULL is allowed. */
void mf_elf_file_close(struct mf_elf_file *binary);

/* Copies @size bytes at @offset of the file. Returns false if they are not all there. */
bool mf_elf_file_read(struct mf_elf_file *binary, uint64_t offset, void *bytes, size_t size);

/* The link-time address of the byte at @offset of the file. Returns false if it is not loaded. */
bool mf_elf_file_address(const struct mf_elf_file *binary, uint64_t offset, uint64_t *address);

/*
 * The sorted table in .eh_frame_hdr. @header is the link-time address of the section, @table that
 * of its entries, of eight bytes each. Returns false if there is none that can be searched.
 */
bool mf_elf_file_unwind_table(const struct mf_elf_file *binary, uint64_t *header, uint64_t *table,
			    uint64_t *n_entries);

/*
 * Rules for code that .eh_frame_hdr does not lead to: those of .debug_frame, and of .eh_frame if
 * there is no .eh_frame_hdr. Made when first asked for; NULL if there are none.
 */
const struct mf_cfi *mf_elf_file_cfi(struct mf_elf_file *binary);

/* The link-time address of the first instruction of the program or, in ld.so, of the process. */
uint64_t mf_elf_file_entry(const struct mf_elf_file *binary);

/* Sets the build id of @object, if the file has one. */
void mf_elf_file_build_id(const struct mf_elf_file *binary, struct mf_object *object);

#endif
