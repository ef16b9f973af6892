/* SPDX-License-Identifier: GPL-2.0 */
/* Reads an ELF file for unwinding: segments, unwind table, build id, bytes. */
#ifndef MASSIF_ELF_FILE_H
#define MASSIF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/index.h"
#include "base/held.h"
#include "profile/object.h"

struct mf_elf_file;

/*
 * Opens the ELF file @held, which must outlive it. Its bytes are read when they are needed, one page at a time, and
 * kept. They are not mapped, because truncating a mapped file would kill us. Returns NULL if the file is not readable
 * or is not an ELF file of this machine's word size and byte order.
 */
struct mf_elf_file *mf_elf_file_open(const struct mf_held_file *held);

/* Opens the vdso of this process, which is the same in all processes of this kernel. Returns NULL if there is none. */
struct mf_elf_file *mf_elf_file_open_vdso(void);

/* NULL is allowed. */
void mf_elf_file_close(struct mf_elf_file *binary);

/* Copies @size bytes at @offset of the file. Returns false if the file does not have all of them. */
bool mf_elf_file_read(struct mf_elf_file *binary, uint64_t offset, void *bytes, size_t size);

/* Computes the link-time address of the byte at @offset of the file. Returns false if that byte is not loaded. */
bool mf_elf_file_address(const struct mf_elf_file *binary, uint64_t offset, uint64_t *address);

/*
 * Returns the sorted table in .eh_frame_hdr. *@header is the link-time address of the section, *@table that of the
 * entries, which are eight bytes each. Returns false if there is no searchable table.
 */
bool mf_elf_file_unwind_table(const struct mf_elf_file *binary, uint64_t *header, uint64_t *table,
			    uint64_t *n_entries);

/*
 * Returns rules for code that .eh_frame_hdr does not cover: those of .debug_frame and, without .eh_frame_hdr, those of
 * .eh_frame. They are built by the first call. Returns NULL if there are none.
 */
const struct mf_cfi *mf_elf_file_cfi(struct mf_elf_file *binary);

/* Returns the link-time address of the entry point: the first instruction of a program or, in ld.so, of the process. */
uint64_t mf_elf_file_entry(const struct mf_elf_file *binary);

/* Copies the build id to @object, if the file has one. */
void mf_elf_file_build_id(const struct mf_elf_file *binary, struct mf_object *object);

#endif
