/* SPDX-License-Identifier: GPL-2.0 */
/* Prepares the sections of an ELF file for libdw. */
#ifndef MASSIF_SYMBOLS_SECTIONS_H
#define MASSIF_SYMBOLS_SECTIONS_H

#include <libelf.h>
#include <stdbool.h>

/* The sections that mf_sections_inflate() decompressed. */
struct mf_sections {
	void **contents;
	size_t count;
};

/* Returns whether @elf has a section of this name that is not empty in the file. */
bool mf_sections_have(Elf *elf, const char *name);

/* Returns whether @elf has debug information. */
bool mf_sections_have_dwarf(Elf *elf);

/* Hides from libdw the sections that we do not need; otherwise it would decompress all sections when it opens @elf. */
void mf_sections_hide(Elf *elf);

/*
 * Decompresses the sections that libdw needs, faster than libdw would. Sections that we cannot decompress are left to
 * libdw. @sections must remain valid until @elf, which reads the file @fd, is closed.
 */
void mf_sections_inflate(struct mf_sections *sections, Elf *elf, int fd);
void mf_sections_deinit(struct mf_sections *sections);

#endif
