/* SPDX-License-Identifier: GPL-2.0 */
/* What functions of given names an object defines, by its symbol tables. */
#ifndef MASSIF_PRELOAD_DEFINITIONS_H
#define MASSIF_PRELOAD_DEFINITIONS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define MF_DEFINITIONS_RELOCATIONS 2

/* An object whose symbols can be looked up. It must stay loaded meanwhile. */
struct mf_definitions {
	const struct dl_phdr_info *object;
	const ElfW(Sym) *symbols;
	const char *names;
	const char *soname; /* NULL: it has none */
	const uint32_t *gnu_hash;
	const ElfW(Word) *hash;

	/* All of them, and those of functions that may be bound later. */
	struct {
		const ElfW(Rela) *table;
		uint64_t size; /* bytes */
	} relocations[MF_DEFINITIONS_RELOCATIONS];
};

/* False: it has no symbols for the dynamic linker. */
bool mf_definitions_open(struct mf_definitions *definitions, const struct dl_phdr_info *object);

struct mf_definition {
	void *address;
	uint64_t size; /* 0 if that is not known */
	uint32_t name; /* the name's number */
	bool chosen_late; /* the address is that of the function that will choose one (IFUNC) */
};

typedef void mf_definitions_found(const struct mf_definition *definition, void *data);

/* Calls @found for each definition of @name, whose number is @number, that others can refer to. */
void mf_definitions_find(const struct mf_definitions *definitions, const char *name, uint32_t number,
			 mf_definitions_found *found, void *data);

/*
 * The same for those of the @n @names, of four characters at least, that only the symbol table of the
 * object's file has (.symtab): what an executable keeps for itself. With @locals those that are private
 * to a part of it, too. It finds the others again.
 */
void mf_definitions_find_in_file(const struct mf_definitions *definitions, const char *const *names,
				 uint32_t n, bool locals, mf_definitions_found *found, void *data);

#endif
