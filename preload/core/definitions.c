// SPDX-License-Identifier: GPL-2.0
// Finds functions that an object defines, by name.
//
// The dynamic symbol table is in memory. The full symbol table (.symtab) is only in the object's file.

#include "definitions.h"

#include <elf.h>
#include <string.h>

#include "object_file.h"

/*
 * Returns the pointer in a dynamic entry. The dynamic linker has relocated these pointers in most objects, but not in
 * the vDSO.
 */
static const void *pointer_of(const struct dl_phdr_info *object, ElfW(Addr) value)
{
	return (const void *)(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

bool mf_definitions_open(struct mf_definitions *definitions, const struct dl_phdr_info *object)
{
	const ElfW(Dyn) *entry = NULL;
	ElfW(Xword) soname = 0;

	*definitions = (struct mf_definitions){ .object = object };
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			definitions->symbols = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_STRTAB:
			definitions->names = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			definitions->gnu_hash = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_HASH:
			definitions->hash = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_VERSYM:
			definitions->versions = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_RELA:
			definitions->relocations[0].table = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_RELASZ:
			definitions->relocations[0].size = entry->d_un.d_val;
			break;
		case DT_JMPREL:
			definitions->relocations[1].table = pointer_of(object, entry->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			definitions->relocations[1].size = entry->d_un.d_val;
			break;
		case DT_SONAME:
			soname = entry->d_un.d_val;
			break;
		}
	}
	if (soname && definitions->names)
		definitions->soname = definitions->names + soname;
	return definitions->symbols && definitions->names;
}

bool mf_definitions_is_mapped(const struct dl_phdr_info *object, uint32_t rights, uint64_t address, uint64_t size)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		uint64_t at = address - object->dlpi_addr - header->p_vaddr;

		if (header->p_type == PT_LOAD && (header->p_flags & rights) == rights &&
		    at < header->p_filesz && size <= header->p_filesz - at)
			return true;
	}
	return false;
}

static bool is_function(const ElfW(Sym) *symbol)
{
	uint32_t type = ELF64_ST_TYPE(symbol->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* The bit that marks symbols that are not the default version of their name. */
#define VERSION_HIDDEN 0x8000u

/* Returns whether @symbol, which is in the dynamic symbol table if @is_dynamic, is not the default version of its name. */
static bool is_old_version(const struct mf_definitions *definitions, const ElfW(Sym) *symbol, bool is_dynamic)
{
	return is_dynamic && definitions->versions &&
	       definitions->versions[symbol - definitions->symbols] & VERSION_HIDDEN;
}

static void report(const struct mf_definitions *definitions, const ElfW(Sym) *symbol, uint32_t number,
		   bool is_dynamic, bool locals, mf_definitions_found *found, void *data)
{
	uint64_t address = definitions->object->dlpi_addr + symbol->st_value;
	uint32_t binding = ELF64_ST_BIND(symbol->st_info);

	if (!is_function(symbol) || symbol->st_shndx == SHN_UNDEF ||
	    !symbol->st_value || (!locals && binding != STB_GLOBAL && binding != STB_WEAK) ||
	    !mf_definitions_is_mapped(definitions->object, PF_R | PF_X, address, symbol->st_size))
		return;
	found(&(struct mf_definition){
		      .address = (void *)(uintptr_t)address,
		      .size = symbol->st_size,
		      .name = number,
		      .is_old_version = is_old_version(definitions, symbol, is_dynamic),
		      .chosen_late = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
	      },
	      data);
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		hash = (hash << 4) + (unsigned char)*name;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	return hash;
}

/* Reports all definitions of @name. There may be several, with different symbol versions. */
static void find_by_gnu_hash(const struct mf_definitions *definitions, const char *name,
			     uint32_t number, mf_definitions_found *found, void *data)
{
	const uint32_t *table = definitions->gnu_hash;
	uint32_t n_buckets = table[0], first = table[1], n_words = table[2], shift = table[3];
	const ElfW(Addr) *filter = (const void *)(table + 4);
	const uint32_t *buckets = (const void *)(filter + n_words), *chains = buckets + n_buckets;
	uint32_t hash = gnu_hash_of(name), bits = 8 * sizeof(*filter), i;
	ElfW(Addr) word;

	if (!n_buckets || !n_words)
		return;
	word = filter[hash / bits % n_words];
	if (!(word >> hash % bits & word >> (hash >> shift) % bits & 1))
		return;
	i = buckets[hash % n_buckets];
	if (i < first)
		return;
	do {
		const ElfW(Sym) *symbol = &definitions->symbols[i];

		if ((chains[i - first] | 1) == (hash | 1) &&
		    !strcmp(definitions->names + symbol->st_name, name))
			report(definitions, symbol, number, true, false, found, data);
	} while (!(chains[i++ - first] & 1));
}

static void find_by_hash(const struct mf_definitions *definitions, const char *name, uint32_t number,
			 mf_definitions_found *found, void *data)
{
	const ElfW(Word) *table = definitions->hash;
	uint32_t n_buckets = table[0];
	const ElfW(Word) *chains = table + 2 + n_buckets;

	if (!n_buckets)
		return;
	for (uint32_t i = table[2 + hash_of(name) % n_buckets]; i; i = chains[i])
		if (!strcmp(definitions->names + definitions->symbols[i].st_name, name))
			report(definitions, &definitions->symbols[i], number, true, false, found, data);
}

void mf_definitions_find(const struct mf_definitions *definitions, const char *name, uint32_t number,
			 mf_definitions_found *found, void *data)
{
	if (definitions->gnu_hash)
		find_by_gnu_hash(definitions, name, number, found, data);
	else if (definitions->hash)
		find_by_hash(definitions, name, number, found, data);
}

/*
 * A set of names to search for. A hash of the first four characters rejects most other names without a full comparison.
 */
#define BEGINNING 4u

struct wanted {
	const char *const *names;
	uint32_t n;
	/*
	 * true if any name in the set has this hash of its first four characters; the index is the result of
	 * beginning_of()
	 */
	bool beginnings[1u << 10];
};

static uint32_t beginning_of(const char *name)
{
	uint32_t word;

	memcpy(&word, name, BEGINNING);
	return word * 0x9e3779b1u >> 22;
}

/* Builds a set from the @n names in @names. Each name must have at least BEGINNING characters. */
static struct wanted want(const char *const *names, uint32_t n)
{
	struct wanted wanted = { .names = names, .n = n };

	for (uint32_t i = 0; i < n; i++)
		wanted.beginnings[beginning_of(names[i])] = true;
	return wanted;
}

/*
 * Returns the index of @name in the set, or wanted->n if it is not there. @name may end with a version ("@..."), which
 * is ignored. @size: number of bytes that may be read at @name.
 */
static uint32_t number_of(const struct wanted *wanted, const char *name, uint64_t size)
{
	size_t length;

	if (size < BEGINNING || !wanted->beginnings[beginning_of(name)])
		return wanted->n;
	length = strcspn(name, "@");
	for (uint32_t i = 0; i < wanted->n; i++)
		if (!strncmp(wanted->names[i], name, length) && !wanted->names[i][length])
			return i;
	return wanted->n;
}

static void find_in_section(const struct mf_definitions *definitions, const struct mf_object_file *file,
			    const ElfW(Shdr) *table, const ElfW(Shdr) *strings,
			    const char *const *names, uint32_t n, bool locals,
			    mf_definitions_found *found, void *data)
{
	const struct wanted wanted = want(names, n);
	const ElfW(Sym) *symbols;
	const char *text;

	if (!mf_object_file_has(file, table->sh_offset, table->sh_size) || table->sh_offset % _Alignof(ElfW(Sym)) ||
	    !mf_object_file_has(file, strings->sh_offset, strings->sh_size) || !strings->sh_size)
		return;
	symbols = (const void *)(file->bytes + table->sh_offset);
	text = (const char *)file->bytes + strings->sh_offset;
	if (text[strings->sh_size - 1])
		return;
	for (uint64_t i = 1; i < table->sh_size / sizeof(*symbols); i++) {
		uint32_t number = n;

		if (symbols[i].st_shndx != SHN_UNDEF && is_function(&symbols[i]) &&
		    symbols[i].st_name < strings->sh_size)
			number = number_of(&wanted, text + symbols[i].st_name,
					   strings->sh_size - symbols[i].st_name);
		if (number < n)
			report(definitions, &symbols[i], number, false, locals, found, data);
	}
}

void mf_definitions_find_in_file(const struct mf_definitions *definitions, const char *const *names,
				 uint32_t n, bool locals, mf_definitions_found *found, void *data)
{
	struct mf_object_file file;

	if (!mf_object_file_open(&file, definitions->object))
		return;
	for (uint32_t i = 0; i < file.n_sections; i++)
		if (file.sections[i].sh_type == SHT_SYMTAB && file.sections[i].sh_link < file.n_sections)
			find_in_section(definitions, &file, &file.sections[i],
					&file.sections[file.sections[i].sh_link], names, n, locals, found,
					data);
	mf_object_file_close(&file);
}
