// SPDX-License-Identifier: GPL-2.0
// In this program and its libraries, the symbol found for an address equals the result of a linear search, at each
// boundary where another symbol could begin or end.

#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "symbols/symtab.h"

#define PLACE "symtab.tmp"
#define EACH  512 /* in each file, the number of symbols whose boundaries are tested */

/* Symbols with the same start and size, so that only their names decide which one is preferred. */
__asm__(".text\n"
	".globl symtab_long_name, symtab_name, symtab_nbme\n"
	".type symtab_long_name, @function\n.type symtab_name, @function\n.type symtab_nbme, @function\n"
	".size symtab_long_name, 16\n.size symtab_name, 16\n.size symtab_nbme, 16\n"
	"symtab_long_name:\nsymtab_nbme:\nsymtab_name:\n"
	".fill 16, 1, 0x90\n"
	".fill 16, 1, 0x90\n");

struct reference {
	struct mf_symbol *symbols;
	size_t count;
};

static void refer_to_section(struct reference *all, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
		int type = GELF_ST_TYPE(symbol.st_info);
		GElf_Shdr code;

		if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT) || !name ||
		    !*name || !symbol.st_size || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_shndx >= SHN_LORESERVE ||
		    !gelf_getshdr(elf_getscn(elf, symbol.st_shndx), &code) ||
		    !(code.sh_flags & SHF_EXECINSTR))
			continue;
		all->symbols = realloc(all->symbols, (all->count + 1) * sizeof(*all->symbols));
		all->symbols[all->count++] = (struct mf_symbol){
			.start = symbol.st_value, .size = symbol.st_size, .name = name,
		};
	}
}

static void refer_to(struct reference *all, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			refer_to_section(all, elf, section, &header);
	}
}

/*
 * Returns whether @a is preferred to @b. Both symbols begin at the same address and contain the address being looked
 * up.
 */
static bool is_better(const struct mf_symbol *a, const struct mf_symbol *b)
{
	size_t length_a = strcspn(a->name, "@"), length_b = strcspn(b->name, "@");

	if (a->size != b->size)
		return a->size < b->size;
	if (length_a != length_b)
		return length_a < length_b;
	if (!a->name[length_a] != !b->name[length_b])
		return a->name[length_a];
	return strcmp(a->name, b->name) < 0;
}

static const struct mf_symbol *look_at_all(const struct reference *all, uint64_t address)
{
	const struct mf_symbol *found = NULL;
	uint64_t nearest = 0;

	for (size_t i = 0; i < all->count; i++) {
		if (all->symbols[i].start <= address && all->symbols[i].start > nearest)
			nearest = all->symbols[i].start;
	}
	for (size_t i = 0; i < all->count; i++) {
		const struct mf_symbol *symbol = &all->symbols[i];

		if (symbol->start == nearest && address - nearest < symbol->size &&
		    (!found || is_better(symbol, found)))
			found = symbol;
	}
	return found;
}

static size_t differences(const struct reference *all, struct mf_symtab *table, uint64_t address)
{
	const struct mf_symbol *right = look_at_all(all, address);
	const struct mf_symbol *found = mf_symtab_find(table, address);

	if (!right && !found)
		return 0;
	if (right && found && right->start == found->start && right->size == found->size &&
	    strcmp(right->name, found->name) == 0)
		return 0;
	fprintf(stderr, "# at %#lx: %s, and should be %s\n", (unsigned long)address,
		found ? found->name : "(none)", right ? right->name : "(none)");
	return 1;
}

/*
 * Returns the number of addresses in the file for which a look-up in the table and a linear search find different
 * symbols, or -1 if the file cannot be read or has no symbols.
 */
static long compare(const char *path)
{
	struct reference all = { 0 };
	struct mf_symtab table = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t wrong = 0, step;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return -1;
	refer_to(&all, elf);
	mf_symtab_add(&table, elf);
	mf_symtab_finish(&table);
	step = all.count / EACH + 1;
	for (size_t i = 0; i < all.count; i += step) {
		const struct mf_symbol *symbol = &all.symbols[i];

		wrong += differences(&all, &table, symbol->start - 1);
		wrong += differences(&all, &table, symbol->start);
		wrong += differences(&all, &table, symbol->start + symbol->size - 1);
		wrong += differences(&all, &table, symbol->start + symbol->size);
	}
	/* Addresses that are far from all symbols. */
	wrong += differences(&all, &table, 0);
	wrong += differences(&all, &table, 1);
	wrong += differences(&all, &table, UINT64_MAX);
	for (uint64_t address = 3; address < UINT64_MAX / 4; address *= 3)
		wrong += differences(&all, &table, address);
	mf_symtab_deinit(&table);
	elf_end(elf);
	close(fd);
	free(all.symbols);
	return all.count ? (long)wrong : -1;
}

FIXTURE(symtab) {
	char program[PATH_MAX];
};

FIXTURE_SETUP(symtab)
{
	ssize_t length = readlink("/proc/self/exe", self->program, sizeof(self->program) - 1);

	ASSERT_LT(0, length);
	self->program[length] = '\0';
}

FIXTURE_TEARDOWN(symtab)
{
	if (system("rm -rf " PLACE))
		abort();
}

TEST_F(symtab, of_this_program)
{
	EXPECT_EQ(0, compare(self->program));
}

static int compare_library(struct dl_phdr_info *info, size_t size, void *data)
{
	long *sum = data;

	if (info->dlpi_name[0] == '/') {
		long wrong = compare(info->dlpi_name);

		*sum = wrong < 0 || *sum < 0 ? -1 : *sum + wrong + 1000000;
	}
	return 0;
}

TEST_F_TIMEOUT(symtab, of_libraries, 120)
{
	long sum = 0;

	dl_iterate_phdr(compare_library, &sum);
	/*
	 * compare_library() adds a million to sum for each file that it compares, and one for each wrong symbol. It
	 * makes sum negative if a file cannot be read or has no symbols.
	 */
	EXPECT_LE(4000000, sum);
	EXPECT_EQ(0, sum % 1000000);
}

/* A few symbols, in sections that are far from each other. */
static const char *const builds[] = {
	"-Wl,--section-start=.text.far=0x7000000000",
	"-Wl,--section-start=.text.far=0x7000000000 -rdynamic",
	"-Wl,--section-start=.text.far=0x7000000000 -s -rdynamic",
};

TEST_F(symtab, far_apart)
{
	FILE *source;

	ASSERT_EQ(0, system("rm -rf " PLACE " && mkdir " PLACE));
	if (system("gcc --version >/dev/null 2>&1"))
		SKIP(return, "no gcc");
	source = fopen(PLACE "/far.c", "w");
	ASSERT_NE(NULL, source);
	fputs("__attribute__((section(\".text.far\"))) int far(int n) { return n * 3; }\n"
	      "__attribute__((section(\".text.far\"), alias(\"far\"))) int fas(int n);\n"
	      "int near(int n) { return n * 5; }\n"
	      "int main(void) { return 0; }\n", source);
	ASSERT_EQ(0, fclose(source));
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		char command[256];

		snprintf(command, sizeof(command), "cd " PLACE " && gcc -no-pie %s -o far far.c",
			 builds[i]);
		ASSERT_EQ(0, system(command));
		EXPECT_EQ(0, compare(PLACE "/far"));
	}
}

TEST_HARNESS_MAIN
