/* SPDX-License-Identifier: GPL-2.0 */
/* Finds functions that an object defines, by name, in the object's symbol tables. */
#ifndef MASSIF_PRELOAD_DEFINITIONS_H
#define MASSIF_PRELOAD_DEFINITIONS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define MF_DEFINITIONS_RELOCATIONS 2

/* An object opened for looking up symbols. The object must stay loaded as long as this struct is in use. */
struct mf_definitions {
	const struct dl_phdr_info *object;
	const ElfW(Sym) *symbols;
	const char *names;
	const char *soname; /* the object's DT_SONAME; NULL if there is none */
	const uint32_t *gnu_hash;
	const ElfW(Word) *hash;
	const ElfW(Half) *versions; /* of the symbols; NULL if they have none */

	/* Relocations of the object: DT_RELA, and DT_JMPREL, which may be bound lazily. */
	struct {
		const ElfW(Rela) *table;
		uint64_t size; /* size of the relocation table in bytes */
	} relocations[MF_DEFINITIONS_RELOCATIONS];
};

/* Returns false if @object has no dynamic symbol table. Allocates nothing, so there is no matching close function. */
bool mf_definitions_open(struct mf_definitions *definitions, const struct dl_phdr_info *object);

struct mf_definition {
	void *address;
	uint64_t size; /* size of the definition in bytes; 0 if unknown */
	/*
	 * Identifies the name that is defined: the @number given to mf_definitions_find(), or the name's index in the
	 * @names given to mf_definitions_find_in_file().
	 */
	uint32_t name;
	/* An old version, which only programs linked long ago use; false if found in the file's full symbol table. */
	bool is_old_version;
	bool chosen_late; /* IFUNC: the address is that of the resolver, which picks the function at run time */
};

typedef void mf_definitions_found(const struct mf_definition *definition, void *data);

/*
 * Calls @found for each global or weak definition of @name in the dynamic symbol table. A name may have several
 * definitions, with different symbol versions. @found receives @number as mf_definition.name, to identify the name.
 */
void mf_definitions_find(const struct mf_definitions *definitions, const char *name, uint32_t number,
			 mf_definitions_found *found, void *data);

/*
 * Searches the file's full symbol table (.symtab) for the @n @names, which are at least four characters long. This
 * finds functions that an executable does not export, including static functions if @locals is true. It also reports
 * the exported definitions, even if they have been reported before.
 */
void mf_definitions_find_in_file(const struct mf_definitions *definitions, const char *const *names,
				 uint32_t n, bool locals, mf_definitions_found *found, void *data);

/*
 * Are the @size bytes at @address in a segment of @object that has all @rights (PF_...)? Program headers other than
 * PT_LOAD may describe memory that was not mapped.
 */
bool mf_definitions_is_mapped(const struct dl_phdr_info *object, uint32_t rights, uint64_t address, uint64_t size);

#endif
