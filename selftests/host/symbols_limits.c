// SPDX-License-Identifier: GPL-2.0
// Debug information with more inlined calls at an address, or more nested blocks, than the symbolizer follows: the
// excess is left out, and the rest is shown.
//
// The compiler generates the debug information from programs written here.

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"
#include "symbols/positions.h"

/*
 * The maximum depth of nested calls or blocks that the symbolizer follows; the same as DEPTH_MAX in
 * userland/symbols/positions.c
 */
#define DEPTH_MAX 256

FIXTURE(limits) {
	struct ctl_result result;
	int fd;
	Dwarf *dwarf;
	struct mf_positions *positions;
};

FIXTURE_SETUP(limits)
{
	self->fd = -1;
}

static void close_program(FIXTURE_DATA(limits) *self)
{
	mf_positions_destroy(self->positions);
	self->positions = NULL;
	dwarf_end(self->dwarf);
	self->dwarf = NULL;
	if (self->fd >= 0)
		close(self->fd);
	self->fd = -1;
	ctl_result_free(&self->result);
}

FIXTURE_TEARDOWN(limits)
{
	close_program(self);
	unlink("limits.c");
	unlink("limits.so");
}

/* Compiles limits.c and opens the resulting file. */
static void open_program(struct __test_metadata *_metadata, FIXTURE_DATA(limits) *self)
{
	CTL_RUN(&self->result, "gcc", "-g", "-O0", "-shared", "-fPIC", "-nostdlib", "-o", "limits.so", "limits.c");
	ASSERT_EQ(0, ctl_exit_code(&self->result)) {
		TH_LOG("%s", self->result.err);
	}
	self->fd = open("limits.so", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	self->dwarf = dwarf_begin(self->fd, DWARF_C_READ);
	ASSERT_NE(NULL, self->dwarf);
	self->positions = mf_positions_create(self->dwarf);
	ASSERT_NE(NULL, self->positions);
}

/*
 * C source of the innermost inlined function. The symbol "innermost" marks the code into which this function was
 * inlined.
 */
#define INNERMOST                                                                                                      \
	"static inline __attribute__((always_inline)) void f1(void)\n"                                                 \
	"{\n"                                                                                                          \
	"	__asm__ volatile(\".globl innermost\\ninnermost: nop\");\n"                                            \
	"}\n"

static uint64_t innermost_address(FIXTURE_DATA(limits) *self)
{
	Elf *elf = dwarf_getelf(self->dwarf);
	Elf_Scn *section = NULL;
	uint64_t address = 0;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(elf_getdata(section, NULL), i, &symbol); i++)
			if (!strcmp("innermost", elf_strptr(elf, header.sh_link, symbol.st_name) ?: ""))
				address = symbol.st_value;
	}
	return address;
}

/* Functions inlined into each other: f1 into f2, and so on, up to f@n into f. */
TEST_F_TIMEOUT(limits, inlined_calls, 120)
{
	static const size_t counts[] = { MF_POSITIONS_MAX - 1, MF_POSITIONS_MAX, 10 * MF_POSITIONS_MAX };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		size_t n = counts[i];
		FILE *file = fopen("limits.c", "w");
		struct mf_position list[MF_POSITIONS_MAX];
		char wanted[32];

		ASSERT_NE(NULL, file);
		fputs(INNERMOST, file);
		for (size_t j = 2; j <= n; j++)
			fprintf(file, "static inline __attribute__((always_inline)) void f%zu(void) { f%zu(); }\n", j, j - 1);
		fprintf(file, "void f(void) { f%zu(); }\n", n);
		fclose(file);
		open_program(_metadata, self);
		EXPECT_EQ(MF_POSITIONS_MAX, mf_positions_find(self->positions, innermost_address(self), true, list)) {
			TH_LOG("%zu calls", n);
		}
		/*
		 * If more calls are inlined into each other at an address than fit into the list, the innermost ones
		 * are left out.
		 */
		snprintf(wanted, sizeof(wanted), "f%zu", n - (MF_POSITIONS_MAX - 2));
		EXPECT_STREQ(wanted, list[0].function);
		close_program(self);
	}
}

/* Nested blocks, with an inlined call in the innermost one. */
TEST_F_TIMEOUT(limits, blocks, 120)
{
	static const size_t depths[] = { 1, DEPTH_MAX - 1, DEPTH_MAX, 10 * DEPTH_MAX };

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		FILE *file = fopen("limits.c", "w");
		struct mf_position list[MF_POSITIONS_MAX];

		ASSERT_NE(NULL, file);
		fputs(INNERMOST "volatile int v;\nvoid f(void)\n{\n", file);
		for (size_t j = 0; j < depths[i]; j++)
			fprintf(file, "{ volatile int v%zu = v;\n", j);
		fprintf(file, "f1();\n");
		for (size_t j = 0; j < depths[i]; j++)
			fputs("}", file);
		fputs("}\n", file);
		fclose(file);
		open_program(_metadata, self);
		EXPECT_EQ(depths[i] < DEPTH_MAX ? 2 : 1,
			  mf_positions_find(self->positions, innermost_address(self), true, list)) {
			TH_LOG("%zu blocks", depths[i]);
		}
		close_program(self);
	}
}

TEST_HARNESS_MAIN
