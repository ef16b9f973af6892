/* SPDX-License-Identifier: GPL-2.0 */
/* The sections of an ELF file that libdw will read. */
#ifndef MASSIF_SYMBOLS_SECTIONS_H
#define MASSIF_SYMBOLS_SECTIONS_H

#include <libelf.h>
#include <stdbool.h>

/* What mf_sections_inflate() has decompressed. */
struct mf_sections {
	void **contents;
	size_t count;
};

/* Does @elf have a section of that name with contents? */
bool mf_sections_have(Elf *elf, const char *name);

/* Does @elf have debug information? */
bool mf_sections_have_dwarf(Elf *elf);

/*
 * Makes libdw, which reads @elf after this, pass over the sections that we have no use for: it would
 * decompress all of them at once.
 */
void mf_sections_hide(Elf *elf);

/*
 * Decompresses the sections that libdw will want, sooner than it would do it. Those that cannot be are
 * left to it. What is in @sections must stay until @elf, which is that of the file @fd, is closed.
 */
void mf_sections_inflate(struct mf_sections *sections, Elf *elf, int fd);
void mf_sections_deinit(struct mf_sections *sections);

#endif
