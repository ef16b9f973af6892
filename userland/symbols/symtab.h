/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of an ELF file by address, from its symbol tables. */
#ifndef MASSIF_SYMBOLS_SYMTAB_H
#define MASSIF_SYMBOLS_SYMTAB_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

struct mf_symbol {
	uint64_t start, size; /* link-time addresses, as in the file */
	const char *name;     /* as in the file, whose memory it is */
	const char *shown; /* for the user of the table, e.g. the demangled name; NULL at first */
};

/* An all-zero table is empty and ready. */
struct mf_symtab {
	struct mf_symbol *symbols; /* sorted by start, then by size */
	size_t count, room;
};

/*
 * Adds the functions of all symbol tables of @elf, which must stay open. Symbols of no size and
 * symbols outside of code are left out. What cannot be read is left out silently.
 */
void mf_symtab_add(struct mf_symtab *table, Elf *elf);

/* To be called once, after the last mf_symtab_add(). Of aliases one remains. */
void mf_symtab_finish(struct mf_symtab *table);

/* The symbol that covers @address, or NULL. */
struct mf_symbol *mf_symtab_find(struct mf_symtab *table, uint64_t address);

void mf_symtab_deinit(struct mf_symtab *table);

#endif
