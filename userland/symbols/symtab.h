/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of an ELF file, by address, from its symbol tables.
 *
 * Few symbols of a large table are ever looked up, so the table is not sorted as a whole. Instead, symbols are
 * distributed to address intervals: one pass counts them, a second one distributes them. An interval is sorted, and its
 * names are read, when an address in it is first looked up.
 */
#ifndef MASSIF_SYMBOLS_SYMTAB_H
#define MASSIF_SYMBOLS_SYMTAB_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_symbol {
	uint64_t start, size; /* link-time addresses, as in the file */
	const char *name;     /* name as in the file; points into the file's memory */
	const char *shown; /* for use by the caller, for example for the demangled name; initially NULL */
};

struct mf_symtab_source;
struct mf_symtab_entry;
struct mf_symtab_interval;

/* The functions of an ELF file. Zero-initialise it. */
struct mf_symtab {
	struct mf_symtab_source *sources; /* the file's symbol sections */
	size_t n_sources;
	struct mf_symtab_entry *entries;  /* one entry for each symbol, grouped by address interval */
	struct mf_symtab_interval *intervals;
	size_t n_intervals;
	/* range of code addresses, high exclusive; symbols outside it are put into the first or the last interval */
	uint64_t low, high;
	unsigned int shift; /* an interval has 1 << shift addresses */
};

/*
 * Adds the functions of all symbol tables of @elf, which must stay open. Symbols of size 0, symbols outside code, and
 * anything that cannot be read are omitted.
 */
void mf_symtab_add(struct mf_symtab *table, Elf *elf);

/* Divides the symbols into address intervals. Call this once, after the last mf_symtab_add(). */
void mf_symtab_finish(struct mf_symtab *table);

/*
 * Returns the symbol that contains @address, or NULL. If it has aliases, always returns the same one. The symbol
 * belongs to the table.
 */
struct mf_symbol *mf_symtab_find(struct mf_symtab *table, uint64_t address);

/* Frees the table. Also frees each symbol's field @shown unless it equals its @name. */
void mf_symtab_deinit(struct mf_symtab *table);

#endif
