// SPDX-License-Identifier: GPL-2.0
// The functions of an ELF file by address, from its symbol tables.

#include "symbols/symtab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Which sections of @elf hold code, one flag each; NULL if memory is short. */
static bool *find_code_sections(Elf *elf, size_t *n_sections)
{
	Elf_Scn *section = NULL;
	bool *code;

	if (elf_getshdrnum(elf, n_sections))
		return NULL;
	code = calloc(*n_sections + 1, sizeof(*code));
	if (!code)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		size_t number = elf_ndxscn(section);

		if (number < *n_sections && gelf_getshdr(section, &header))
			code[number] = header.sh_flags & SHF_EXECINSTR;
	}
	return code;
}

/* Hand-written code is at times marked as data; a section of code is what counts then. */
static bool is_function(const GElf_Sym *symbol)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT:
		return symbol->st_size != 0 && symbol->st_shndx != SHN_UNDEF;
	default:
		return false;
	}
}

static bool append(struct mf_symtab *table, const struct mf_symbol *symbol)
{
	if (table->count == table->room) {
		size_t room = table->room ? table->room * 2 : 1024;
		struct mf_symbol *symbols = reallocarray(table->symbols, room, sizeof(*symbols));

		if (!symbols)
			return false;
		table->symbols = symbols;
		table->room = room;
	}
	table->symbols[table->count++] = *symbol;
	return true;
}

static void add_section(struct mf_symtab *table, Elf *elf, Elf_Scn *section,
			const GElf_Shdr *header, const bool *code, size_t n_sections)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n;

	if (!data || !header->sh_entsize)
		return;
	n = data->d_size / header->sh_entsize;
	for (size_t i = 0; i < n; i++) {
		GElf_Sym symbol;
		struct mf_symbol entry;

		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		if (!is_function(&symbol) || symbol.st_shndx >= n_sections ||
		    !code[symbol.st_shndx])
			continue;
		entry = (struct mf_symbol){
			.start = symbol.st_value,
			.size = symbol.st_size,
			.name = elf_strptr(elf, header->sh_link, symbol.st_name),
		};
		if (entry.name && *entry.name && !append(table, &entry))
			return;
	}
}

void mf_symtab_add(struct mf_symtab *table, Elf *elf)
{
	size_t n_sections;
	bool *code = find_code_sections(elf, &n_sections);
	Elf_Scn *section = NULL;

	if (!code)
		return;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			add_section(table, elf, section, &header, code, n_sections);
	}
	free(code);
}

static bool is_blank(const char *name)
{
	return name[strspn(name, " \t")] == '\0';
}

/*
 * Which of two names for one function Massif shows: one that is not blank, then the shorter one
 * (the version does not count), then the one with a version, then the first of the alphabet.
 */
static int compare_names(const char *a, const char *b)
{
	size_t length_a = strcspn(a, "@"), length_b = strcspn(b, "@");

	if (is_blank(a) != is_blank(b))
		return is_blank(a) ? 1 : -1;
	if (length_a != length_b)
		return length_a < length_b ? -1 : 1;
	if (!a[length_a] != !b[length_b])
		return a[length_a] ? -1 : 1;
	return strcmp(a, b);
}

static int compare_symbols(const void *left, const void *right)
{
	const struct mf_symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return compare_names(a->name, b->name);
}

void mf_symtab_finish(struct mf_symtab *table)
{
	size_t kept = 0;

	if (!table->count)
		return;
	qsort(table->symbols, table->count, sizeof(*table->symbols), compare_symbols);
	for (size_t i = 1; i < table->count; i++) {
		if (table->symbols[i].start == table->symbols[kept].start &&
		    table->symbols[i].size == table->symbols[kept].size)
			continue;
		table->symbols[++kept] = table->symbols[i];
	}
	table->count = kept + 1;
}

/*
 * Where symbols overlap, one ends where the next starts, and its rest after the next belongs to
 * nobody; of those that start together the shorter ones come first. So only the symbols with the
 * nearest start below the address have to be looked at.
 */
struct mf_symbol *mf_symtab_find(struct mf_symtab *table, uint64_t address)
{
	size_t low = 0, high = table->count;
	uint64_t start;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->symbols[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	start = table->symbols[low - 1].start;
	while (low > 0 && table->symbols[low - 1].start == start)
		low--;
	for (; low < table->count && table->symbols[low].start == start; low++) {
		if (address - start < table->symbols[low].size)
			return &table->symbols[low];
	}
	return NULL;
}

void mf_symtab_deinit(struct mf_symtab *table)
{
	free(table->symbols);
	*table = (struct mf_symtab){ 0 };
}
