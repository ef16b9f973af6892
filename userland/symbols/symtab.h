/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of an ELF file by address, from its symbol tables.
 *
 * Of a large table few symbols are ever asked for. So they are not sorted, but dealt out to intervals of
 * addresses, with one pass to count and one to deal; an interval is sorted, and its names are looked at,
 * when somebody asks for an address in it.
 */
#ifndef MASSIF_SYMBOLS_SYMTAB_H
#define MASSIF_SYMBOLS_SYMTAB_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_symbol {
	uint64_t start, size; /* link-time addresses, as in the file */
	const char *name;     /* as in the file, whose memory it is */
	const char *shown; /* for the user of the table, e.g. the demangled name; NULL at first */
};

struct mf_symtab_source;
struct mf_symtab_entry;
struct mf_symtab_interval;

/* An all-zero table is empty and ready. */
struct mf_symtab {
	struct mf_symtab_source *sources; /* sections of symbols */
	size_t n_sources;
	struct mf_symtab_entry *entries;  /* by interval */
	struct mf_symtab_interval *intervals;
	size_t n_intervals;
	uint64_t low, high; /* addresses of code, high exclusive; what is beyond is in the outer intervals */
	unsigned int shift; /* an interval has 1 << shift of them */
};

/*
 * Adds the functions of all symbol tables of @elf, which must stay open. Symbols of no size and
 * symbols outside of code are left out. What cannot be read is left out silently.
 */
void mf_symtab_add(struct mf_symtab *table, Elf *elf);

/* To be called once, after the last mf_symtab_add(). */
void mf_symtab_finish(struct mf_symtab *table);

/* The symbol that covers @address, or NULL. Of aliases always the same one. It stays with the table. */
struct mf_symbol *mf_symtab_find(struct mf_symtab *table, uint64_t address);

/* Frees what is shown, too, where that is not the name. */
void mf_symtab_deinit(struct mf_symtab *table);

#endif
