// SPDX-License-Identifier: GPL-2.0
// The functions of an ELF file, by address, from its symbol tables.

#include "symbols/symtab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A symbol table section. */
struct mf_symtab_source {
	Elf *elf;
	Elf_Data *data;
	/*
	 * for each section of the ELF file, whether it contains code; all symbol tables of the file share this array,
	 * and the first one owns it (@owns_code)
	 */
	const bool *code;
	size_t n_sections, n_symbols;
	size_t strings; /* number of the section that contains the symbols' names */
	/* owns_code: this source must free @code; wide: the symbols are Elf64_Sym, not Elf32_Sym */
	bool owns_code, wide;
};

struct mf_symtab_entry {
	uint64_t start;
	uint32_t source, number;
};

struct mf_symtab_interval {
	uint32_t first; /* index of the interval's first entry; its entries end where the next interval's begin */
	/* number of symbols in the interval; during mf_symtab_finish(), number of its entries still to be filled in */
	uint32_t count;
	/* the symbols, sorted by start, size and name; NULL until an address in the interval is looked up */
	struct mf_symbol *symbols;
};

enum {
	SYMBOLS_EACH = 8, /* intended average number of symbols in an address interval of the table */
	INTERVALS_MAX = 1 << 20,
};

/*
 * Returns an array with one flag per section of @elf, which says whether the section contains code. Returns NULL if
 * @elf is invalid or if out of memory.
 */
static bool *find_code_sections(struct mf_symtab *table, Elf *elf, size_t *n_sections)
{
	Elf_Scn *section = NULL;
	bool *code;

	if (elf_getshdrnum(elf, n_sections))
		return NULL;
	code = calloc(*n_sections + 1, sizeof(*code));
	if (!code)
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		size_t number = elf_ndxscn(section);
		GElf_Shdr header;

		if (number >= *n_sections || !gelf_getshdr(section, &header) ||
		    !(header.sh_flags & SHF_EXECINSTR))
			continue;
		code[number] = true;
		if (!table->high || header.sh_addr < table->low)
			table->low = header.sh_addr;
		if (header.sh_addr + header.sh_size > table->high)
			table->high = header.sh_addr + header.sh_size;
	}
	return code;
}

/*
 * Symbols in hand-written assembly are sometimes marked as data, so a data symbol (STT_OBJECT) in a code section counts
 * as a function, too.
 */
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

/*
 * Adds the symbol table section @source to @table. The first section that is added for an ELF file owns the array
 * source->code, which all symbol tables of the file share; clears source->owns_code, so that sections added later do
 * not own it.
 */
static void add_source(struct mf_symtab *table, struct mf_symtab_source *source, const GElf_Shdr *header)
{
	struct mf_symtab_source *sources;

	if (!source->data || !header->sh_entsize)
		return;
	source->n_symbols = source->data->d_size / header->sh_entsize;
	source->strings = header->sh_link;
	source->wide = gelf_getclass(source->elf) == ELFCLASS64 && source->data->d_type == ELF_T_SYM;
	if (source->wide && source->n_symbols > source->data->d_size / sizeof(Elf64_Sym))
		source->n_symbols = source->data->d_size / sizeof(Elf64_Sym);
	if (source->n_symbols > UINT32_MAX)
		return;
	sources = reallocarray(table->sources, table->n_sources + 1, sizeof(*sources));
	if (!sources)
		return;
	table->sources = sources;
	sources[table->n_sources++] = *source;
	source->owns_code = false;
}

void mf_symtab_add(struct mf_symtab *table, Elf *elf)
{
	struct mf_symtab_source source = { .elf = elf, .owns_code = true };
	Elf_Scn *section = NULL;

	source.code = find_code_sections(table, elf, &source.n_sections);
	if (!source.code)
		return;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		source.data = elf_getdata(section, NULL);
		add_source(table, &source, &header);
	}
	if (source.owns_code)
		free((bool *)source.code);
}

/* Reads symbol @number of @source. Returns false if it is not a function. */
static bool read_symbol(const struct mf_symtab_source *source, size_t number, GElf_Sym *symbol)
{
	/* The symbol may be unaligned in the file. */
	if (source->wide)
		memcpy(symbol, (const char *)source->data->d_buf + number * sizeof(*symbol),
		       sizeof(*symbol));
	else if (!gelf_getsym(source->data, (int)number, symbol))
		return false;
	return is_function(symbol) && symbol->st_shndx < source->n_sections &&
	       source->code[symbol->st_shndx];
}

static size_t interval_of(const struct mf_symtab *table, uint64_t address)
{
	size_t number;

	if (address < table->low)
		return 0;
	number = (size_t)((address - table->low) >> table->shift);
	return number < table->n_intervals ? number : table->n_intervals - 1;
}

static bool is_blank(const char *name)
{
	return name[strspn(name, " \t")] == '\0';
}

/*
 * Compares two names of one function. The name that sorts first is shown, as in Massif. A non-blank name sorts before a
 * blank one. After that, the criteria are, most important first: the shorter name (not counting the version), a name
 * with a version, alphabetical order.
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

/*
 * Divides the addresses of the symbols into intervals: chooses the number and size of the intervals and allocates them.
 */
static bool divide(struct mf_symtab *table)
{
	size_t n = 0, wanted;

	for (size_t i = 0; i < table->n_sources; i++)
		n += table->sources[i].n_symbols;
	if (!n || n > UINT32_MAX || table->high <= table->low)
		return false;
	wanted = n / SYMBOLS_EACH + 1 < INTERVALS_MAX ? n / SYMBOLS_EACH + 1 : INTERVALS_MAX;
	while (table->shift < 63 && (table->high - table->low - 1) >> table->shift >= wanted)
		table->shift++;
	table->n_intervals = (size_t)((table->high - table->low - 1) >> table->shift) + 1;
	/* One extra element, whose field @first marks the end of the last interval. */
	table->intervals = calloc(table->n_intervals + 1, sizeof(*table->intervals));
	return table->intervals;
}

/*
 * If @deal is false, counts the symbols of each interval. If it is true, fills in the entries of each interval, at most
 * as many as were counted before.
 */
static void go_through(struct mf_symtab *table, bool deal)
{
	for (size_t i = 0; i < table->n_sources; i++) {
		for (size_t k = 0; k < table->sources[i].n_symbols; k++) {
			struct mf_symtab_interval *interval;
			GElf_Sym symbol;

			if (!read_symbol(&table->sources[i], k, &symbol))
				continue;
			interval = &table->intervals[interval_of(table, symbol.st_value)];
			if (!deal)
				interval->count++;
			else if (interval->count) /* the file may have changed since the symbols were counted */
				table->entries[interval->first + --interval->count] =
					(struct mf_symtab_entry){
						.start = symbol.st_value,
						.source = (uint32_t)i,
						.number = (uint32_t)k,
					};
		}
	}
}

void mf_symtab_finish(struct mf_symtab *table)
{
	uint32_t n = 0;

	if (!divide(table))
		return;
	go_through(table, false);
	for (size_t i = 0; i <= table->n_intervals; i++) {
		table->intervals[i].first = n;
		n += table->intervals[i].count;
	}
	table->entries = calloc(n + 1, sizeof(*table->entries));
	if (!table->entries) {
		free(mf_take(table->intervals, NULL));
		return;
	}
	go_through(table, true);
	for (size_t i = 0; i < table->n_intervals; i++)
		table->intervals[i].count = 0;
}

/* Reads and sorts the symbols of an address interval. Returns false if out of memory. */
static bool sort_interval(const struct mf_symtab *table, struct mf_symtab_interval *interval)
{
	uint32_t n = interval[1].first - interval->first;

	if (interval->symbols)
		return true;
	interval->symbols = calloc(n + 1, sizeof(*interval->symbols));
	if (!interval->symbols)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct mf_symtab_entry *entry = &table->entries[interval->first + i];
		const struct mf_symtab_source *source = &table->sources[entry->source];
		GElf_Sym symbol;
		const char *name;

		if (!read_symbol(source, entry->number, &symbol) || symbol.st_value != entry->start)
			continue;
		name = elf_strptr(source->elf, source->strings, symbol.st_name);
		if (name && *name)
			interval->symbols[interval->count++] = (struct mf_symbol){
				.start = entry->start,
				.size = symbol.st_size,
				.name = name,
			};
	}
	qsort(interval->symbols, interval->count, sizeof(*interval->symbols), compare_symbols);
	return true;
}

/* Returns the number of symbols in @interval that begin at or below @address. */
static uint32_t count_below(const struct mf_symtab_interval *interval, uint64_t address)
{
	uint32_t low = 0, high = interval->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (interval->symbols[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Returns the symbol that contains @address. If two symbols overlap, the first is taken to end where the second begins;
 * if the first extends past the end of the second, that last part belongs to no symbol. Symbols with the same start are
 * sorted by size; among aliases, the one that is shown comes first. So only symbols with the nearest start need to be
 * examined.
 */
static struct mf_symbol *find_among(const struct mf_symtab_interval *interval, uint32_t low,
				    uint64_t address)
{
	uint64_t start = interval->symbols[low - 1].start;

	while (low > 0 && interval->symbols[low - 1].start == start)
		low--;
	for (; low < interval->count && interval->symbols[low].start == start; low++) {
		if (address - start < interval->symbols[low].size)
			return &interval->symbols[low];
	}
	return NULL;
}

struct mf_symbol *mf_symtab_find(struct mf_symtab *table, uint64_t address)
{
	struct mf_symtab_interval *interval;
	uint32_t low;

	if (!table->intervals)
		return NULL;
	interval = &table->intervals[interval_of(table, address)];
	for (;;) {
		if (!sort_interval(table, interval))
			return NULL;
		low = count_below(interval, address);
		if (low)
			return find_among(interval, low, address);
		if (!interval->first)
			return NULL;
		/* There is no symbol in this interval: continue with the next lower interval that has symbols. */
		interval = &table->intervals[interval_of(table, table->entries[interval->first - 1].start)];
	}
}

void mf_symtab_deinit(struct mf_symtab *table)
{
	for (size_t i = 0; table->intervals && i < table->n_intervals; i++) {
		struct mf_symtab_interval *interval = &table->intervals[i];

		for (uint32_t k = 0; k < interval->count; k++) {
			if (interval->symbols[k].shown != interval->symbols[k].name)
				free((char *)interval->symbols[k].shown);
		}
		free(interval->symbols);
	}
	for (size_t i = 0; i < table->n_sources; i++) {
		if (table->sources[i].owns_code)
			free((bool *)table->sources[i].code);
	}
	free(table->sources);
	free(table->entries);
	free(table->intervals);
	*table = (struct mf_symtab){ 0 };
}
