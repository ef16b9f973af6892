/* SPDX-License-Identifier: GPL-2.0 */
/* Reads an ELF file for unwinding: its segments, unwind table, build id and raw contents. */
#ifndef MASSIF_ELF_FILE_H
#define MASSIF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/index.h"
#include "base/held.h"
#include "profile/object.h"

/* Maximum number of PT_LOAD segments that are kept. No valid file has more. */
#define MF_ELF_SEGMENTS_MAX 64

/* A PT_LOAD segment. */
struct mf_elf_segment {
	uint64_t offset, size; /* position and size of the segment in the file */
	uint64_t address;      /* link-time address at which the segment begins */
};

struct mf_elf_file;

/*
 * Opens the ELF file @held, which must outlive the result. Its bytes are read on demand, in blocks, and cached. The
 * file is not mapped, because we would be killed if it were truncated while mapped. Returns NULL if the file is not
 * readable or is not an ELF file with this machine's word size and byte order.
 */
struct mf_elf_file *mf_elf_file_open(const struct mf_held_file *held);

/* Opens the vdso of this process, which is the same in all processes of this kernel. Returns NULL if there is none. */
struct mf_elf_file *mf_elf_file_open_vdso(void);

/* Closes the file. @binary may be NULL. */
void mf_elf_file_close(struct mf_elf_file *binary);

uint64_t mf_elf_file_size(const struct mf_elf_file *binary);

/* Copies the @size bytes at @offset in the file. Returns false if the file does not contain all of them. */
bool mf_elf_file_read(struct mf_elf_file *binary, uint64_t offset, void *bytes, size_t size);

/* Computes the link-time address of the byte at file offset @offset. Returns false if that byte is not loaded. */
bool mf_elf_file_address(const struct mf_elf_file *binary, uint64_t offset, uint64_t *address);

/*
 * Returns the @size bytes at @offset in the file, valid until @binary is closed; NULL if the file does not contain all
 * of them.
 */
const uint8_t *mf_elf_file_bytes(struct mf_elf_file *binary, uint64_t offset, uint64_t size);

/*
 * Returns what is loaded at the link-time address @address, if the program cannot write to it: *@size bytes, which are at
 * most @most, valid until @binary is closed. Returns NULL if there are none.
 */
const uint8_t *mf_elf_file_constant(struct mf_elf_file *binary, uint64_t address, uint64_t most, uint64_t *size);

/*
 * Returns all unwind rules of the file: those listed in .eh_frame_hdr (or, without it, those of .eh_frame) and those of
 * .debug_frame. The first call builds them. Returns NULL if there are none.
 */
const struct mf_cfi *mf_elf_file_cfi(struct mf_elf_file *binary);

/* Stores PT_LOAD segment number @n, counted from 0, in *@segment. Returns false if there are not that many. */
bool mf_elf_file_segment(const struct mf_elf_file *binary, unsigned int n, struct mf_elf_segment *segment);

/* Returns the link-time address of the entry point: the first instruction of a program or, in ld.so, of the process. */
uint64_t mf_elf_file_entry(const struct mf_elf_file *binary);

/* Copies the build id to @object, if the file has one. */
void mf_elf_file_build_id(const struct mf_elf_file *binary, struct mf_object *object);

#endif
