// SPDX-License-Identifier: GPL-2.0
// The unwind rules that massif-ctl keeps for an object (struct mf_cfi), built from tables written by the test,
// including invalid tables and instructions that must not reach libunwind.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "cfi/check.h"
#include "cfi/index.h"

#define LOADED	0x2000u	  /* address of the section with the unwind tables */
#define CODE	0x1000u	  /* address of the code that the tables describe, which is 100 bytes long */

struct section {
	uint8_t bytes[1024];
	size_t n;
};

static void put(struct section *section, const void *bytes, size_t n)
{
	memcpy(section->bytes + section->n, bytes, n);
	section->n += n;
}

static void put_word(struct section *section, uint32_t word)
{
	put(section, &word, sizeof(word));
}

static void end_entry(struct section *section, size_t start)
{
	uint32_t length = (uint32_t)(section->n - start - 4);

	memcpy(section->bytes + start, &length, sizeof(length));
}

/* Makes a section with one FDE; its CIE has @augmentation and the augmentation data @data. */
static struct section make(const char *augmentation, const void *data, size_t n_data)
{
	static const uint8_t numbers[] = { 1, 0x78, 16 };
	struct section section = { .n = 0 };
	size_t fde;

	put_word(&section, 0);
	put_word(&section, 0);
	put(&section, "\1", 1);
	put(&section, augmentation, strlen(augmentation) + 1);
	put(&section, numbers, sizeof(numbers));
	if (*augmentation) {
		put(&section, &(uint8_t){ (uint8_t)n_data }, 1);
		put(&section, data, n_data);
	}
	end_entry(&section, 0);
	fde = section.n;
	put_word(&section, 0);
	put_word(&section, (uint32_t)section.n);
	put_word(&section, CODE - (LOADED + (uint32_t)section.n));
	put_word(&section, 100);
	put(&section, "\0\0\0\0", 4);
	end_entry(&section, fde);
	return section;
}

/* Returns how many FDEs the builder finds in @section. */
static uint64_t entries_of(const struct section *section)
{
	struct mf_cfi_builder *builder = mf_cfi_begin(0);
	/* Allocate exactly as many bytes as the section has, so that AddressSanitizer notices reads beyond its end. */
	uint8_t *exact = malloc(section->n);
	struct mf_cfi cfi;
	uint64_t n = 0;

	if (!builder || !exact)
		abort();
	memcpy(exact, section->bytes, section->n);
	mf_cfi_add_eh_frame(builder, exact, section->n, LOADED);
	mf_cfi_add_debug_frame(builder, exact, section->n);
	free(exact);
	if (mf_cfi_end(builder, &cfi)) {
		n = cfi.n_entries[MF_CFI_OTHER];
		mf_cfi_deinit(&cfi);
	}
	return n;
}

/* DWARF's code for four-byte pointers that are relative to their own position. */
#define PC_RELATIVE 0x1b

TEST(one_description)
{
	struct section section = make("zR", &(uint8_t){ PC_RELATIVE }, 1);

	EXPECT_EQ(1, entries_of(&section));
}

/*
 * The augmentation letter S, which marks a signal frame, has no associated data, so it may occur any number of times in
 * the string.
 */
TEST(augmentations_of_any_length)
{
	static const size_t lengths[] = { 2, 6, 7, 8, 9, 15, 16, 17, 80, 800 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char augmentation[801] = "zR";
		struct section section;

		memset(augmentation + 2, 'S', lengths[i] - 2);
		section = make(augmentation, &(uint8_t){ PC_RELATIVE }, 1);
		EXPECT_EQ(1, entries_of(&section)) {
			TH_LOG("%zu letters", lengths[i]);
		}
	}
}

TEST(augmentations_that_make_no_sense)
{
	static const uint8_t data[] = { PC_RELATIVE, 4, 2, 3 };
	static const char *const without[] = { "R", "zQ", "zRQ", "zRLLLLL", "zRP", "eh" };
	struct section section;

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		section = make(without[i], data, sizeof(data));
		EXPECT_EQ(0, entries_of(&section)) {
			TH_LOG("%s", without[i]);
		}
	}
	/* The size given for the augmentation data extends beyond the end of the section. */
	section = make("zR", data, 1);
	section.bytes[4 + 4 + 1 + 3 + 3] = 0x7f;
	EXPECT_EQ(0, entries_of(&section));
	/* The augmentation string is not terminated. */
	section = make("zR", data, 1);
	memset(section.bytes + 9, 'S', section.n - 9);
	EXPECT_EQ(0, entries_of(&section));
}

/*
 * Offset of the instructions in the only FDE: they follow its length, the distance to the CIE, two addresses, and
 * a size.
 */
#define FDE_HEAD 17u

/* Builds the rules for an object whose only FDE contains the @n bytes of instructions at @program. */
static struct mf_cfi rules_with(const void *program, size_t n)
{
	struct section section = make("zR", &(uint8_t){ PC_RELATIVE }, 1);
	size_t fde = 4 + section.bytes[0], before = section.n - 3;
	uint8_t *bytes = malloc(before + n);
	struct mf_cfi_builder *builder = mf_cfi_begin(0);
	uint32_t length = (uint32_t)(before + n - fde - 4);
	struct mf_cfi cfi;

	if (!builder || !bytes)
		abort();
	/*
	 * Copy the section that make() built, without the last three bytes: these are the instructions at the end of
	 * the FDE, and the test supplies its own. The last byte copied is the size of the FDE's augmentation data.
	 */
	memcpy(bytes, section.bytes, before);
	memcpy(bytes + fde, &length, sizeof(length));
	memcpy(bytes + before, program, n);
	mf_cfi_add_eh_frame(builder, bytes, before + n, LOADED);
	mf_cfi_end(builder, &cfi);
	free(bytes);
	return cfi;
}

/* Returns the instructions of the FDE that mf_cfi_find() found. */
static struct mf_dwarf program_of(const struct mf_cfi *cfi, const struct mf_cfi_found *found)
{
	const uint8_t *fde = cfi->rules + found->rules;
	uint32_t length;

	memcpy(&length, fde, sizeof(length));
	return (struct mf_dwarf){ .at = fde + FDE_HEAD, .end = fde + 4 + length };
}

TEST(bytes_of_a_program)
{
	static const uint32_t numbers[] = { MF_CFI_PROGRAM_MAX, MF_CFI_PROGRAM_MAX + 1, 10 * MF_CFI_PROGRAM_MAX };
	uint8_t *nops = calloc(10, MF_CFI_PROGRAM_MAX);

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct mf_cfi cfi = rules_with(nops, numbers[i]);
		struct mf_cfi_found found;

		EXPECT_EQ(numbers[i] <= MF_CFI_PROGRAM_MAX, mf_cfi_find(&cfi, CODE + 50, &found));
		if (numbers[i] <= MF_CFI_PROGRAM_MAX) {
			struct mf_dwarf program = program_of(&cfi, &found);
			uint32_t length;

			EXPECT_EQ(numbers[i], program.end - program.at);
			EXPECT_EQ(CODE, found.begin);
			EXPECT_EQ(100, found.size);
			/*
			 * A hostile child process could return rules in which an entry is one byte longer than allowed.
			 */
			memcpy(&length, cfi.rules + found.rules, sizeof(length));
			length++;
			memcpy((void *)(uintptr_t)(cfi.rules + found.rules), &length, sizeof(length));
			EXPECT_FALSE(mf_cfi_find(&cfi, CODE + 50, &found));
		}
		mf_cfi_deinit(&cfi);
	}
	free(nops);
}

/*
 * If a function's unwind instructions save too many states at once (DW_CFA_remember_state), the instructions are
 * truncated at that point. The rules for the code before that point remain valid.
 */
TEST(states_remembered)
{
	enum { ROOM = MF_CFI_REMEMBERED_MAX, REMEMBER = 0x0a, RESTORE = 0x0b };
	static const unsigned int numbers[] = { ROOM, ROOM + 1, 10 * ROOM };
	uint8_t program[2 * 10 * ROOM];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct mf_cfi_found found;
		struct mf_dwarf left;
		struct mf_cfi cfi;

		memset(program, REMEMBER, numbers[i]);
		memset(program + numbers[i], RESTORE, numbers[i]);
		cfi = rules_with(program, 2 * numbers[i]);
		ASSERT_TRUE(mf_cfi_find(&cfi, CODE + 50, &found));
		left = program_of(&cfi, &found);
		EXPECT_EQ(numbers[i] > ROOM, left.end[-1] == MF_CFI_STOP_OPCODE);
		EXPECT_EQ(numbers[i] > ROOM ? ROOM + 1 : 2 * ROOM, left.end - left.at);
		/*
		 * If the unwind tables come from a hostile child, mf_cfi_find() also rejects tables that save too many
		 * states.
		 */
		memset((uint8_t *)(uintptr_t)left.at, REMEMBER, (size_t)(left.end - left.at));
		EXPECT_FALSE(mf_cfi_find(&cfi, CODE + 50, &found));
		mf_cfi_deinit(&cfi);
	}
}

/*
 * Sequences of CFA instructions whose last instruction may be unsafe. Only the first @kept bytes may be passed on to
 * libunwind.
 */
static const struct {
	const char *what;
	uint8_t n, kept;
	uint8_t bytes[24];
} programs[] = {
	{ "nothing", 0, 0, { 0 } },
	{ "a CFA, and a saved register", 5, 5, { 0x0c, 7, 16, 0x86, 2 } },
	{ "an advance of each kind", 11, 11, { 0x41, 0x02, 1, 0x03, 1, 0, 0x04, 1, 0, 0, 0 } },
	{ "an expression as of a PLT", 13, 13,
	  { 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 } },
	{ "a register by an expression", 6, 6, { 0x10, 6, 2, 0x76, 0x78, 0 } },
	{ "the value of a register by an expression", 5, 5, { 0x16, 6, 2, 0x76, 8 } },
	{ "a jump backwards", 8, 3, { 0x0c, 7, 16, 0x0f, 3, 0x2f, 0xfd, 0xff } },
	{ "a branch forwards", 9, 3, { 0x0c, 7, 16, 0x0f, 4, 0x30, 0x28, 0, 0 } },
	{ "a division", 8, 3, { 0x0c, 7, 16, 0x0f, 3, 0x30, 0x31, 0x1b } },
	{ "a remainder", 8, 3, { 0x0c, 7, 16, 0x0f, 3, 0x30, 0x31, 0x1d } },
	{ "a constant that some take for instructions", 7, 3, { 0x0c, 7, 16, 0x0f, 2, 0x10, 0x2f } },
	{ "a call within an expression", 8, 3, { 0x0c, 7, 16, 0x0f, 3, 0x98, 0, 0 } },
	{ "an operation that is cut short", 7, 3, { 0x0c, 7, 16, 0x0f, 2, 0x0c, 1 } },
	{ "an expression that is longer than the program", 6, 3, { 0x0c, 7, 16, 0x0f, 9, 0x77 } },
	{ "an operation of register 128", 9, 3, { 0x0c, 7, 16, 0x0f, 4, 0x92, 0x80, 1, 0 } },
	{ "register 127, and 128", 7, 3, { 0x07, 127, 0x00, 0x07, 0x80, 1, 0x00 } },
	{ "a register in one that is far away", 9, 3, { 0x0c, 7, 16, 0x09, 6, 0x80, 0x80, 0x80, 8 } },
	{ "a number of ten bytes", 11, 11, { 0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0 } },
	{ "a number of eleven bytes", 12, 0, { 0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0 } },
	{ "a number that does not end", 2, 0, { 0x0e, 0x80 } },
	{ "a value at an offset, which libunwind does not know", 6, 3, { 0x0c, 7, 16, 0x14, 6, 2 } },
	{ "an instruction that nobody knows", 4, 3, { 0x0c, 7, 16, 0x3b } },
	{ "an advance that is cut short", 5, 3, { 0x0c, 7, 16, 0x04, 1 } },
};

TEST(instructions)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		size_t n = programs[i].n, kept = programs[i].kept;
		struct mf_cfi cfi = rules_with(programs[i].bytes, n);
		struct mf_cfi_found found;
		struct mf_dwarf program;
		bool same;

		ASSERT_TRUE(mf_cfi_find(&cfi, CODE + 50, &found)) {
			TH_LOG("%s", programs[i].what);
		}
		program = program_of(&cfi, &found);
		same = (size_t)(program.end - program.at) == kept + (kept < n) &&
		       !memcmp(program.at, programs[i].bytes, kept) &&
		       (kept == n || program.at[kept] == MF_CFI_STOP_OPCODE);
		EXPECT_TRUE(same) {
			TH_LOG("%s", programs[i].what);
		}
		mf_cfi_deinit(&cfi);

		/*
		 * Overwrite rules that have already been built with the same instructions, as a hostile child process
		 * could.
		 */
		cfi = rules_with((const uint8_t[24]){ 0 }, n);
		ASSERT_TRUE(mf_cfi_find(&cfi, CODE + 50, &found));
		memcpy((uint8_t *)(uintptr_t)(cfi.rules + found.rules + FDE_HEAD), programs[i].bytes, n);
		EXPECT_EQ(kept == n, mf_cfi_find(&cfi, CODE + 50, &found)) {
			TH_LOG("%s", programs[i].what);
		}
		mf_cfi_deinit(&cfi);
	}
}

/*
 * In rules from .debug_frame, DW_CFA_set_loc is replaced with an advance instruction. This is possible because the
 * operand of DW_CFA_set_loc is an absolute address there.
 */
TEST(addresses_that_are_set)
{
	static const uint8_t program[] = { 0x01, 0x10, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 16 };
	static const uint8_t numbers[] = { 1, 0, 1, 0x78, 16 }, expected[] = { 0x04, 0x10, 0, 0, 0, 0x0e, 16 };
	struct section section = { .n = 0 };
	struct mf_cfi_builder *builder = mf_cfi_begin(0);
	struct mf_cfi_found found;
	struct mf_dwarf made;
	struct mf_cfi cfi;
	size_t fde;

	put_word(&section, 0);
	put_word(&section, UINT32_MAX);
	put(&section, numbers, sizeof(numbers));
	end_entry(&section, 0);
	fde = section.n;
	put_word(&section, 0);
	put_word(&section, 0);
	put(&section, &(uint64_t){ CODE }, 8);
	put(&section, &(uint64_t){ 100 }, 8);
	put(&section, program, sizeof(program));
	end_entry(&section, fde);
	mf_cfi_add_debug_frame(builder, section.bytes, section.n);
	ASSERT_TRUE(mf_cfi_end(builder, &cfi));
	ASSERT_TRUE(mf_cfi_find(&cfi, CODE + 50, &found));
	made = program_of(&cfi, &found);
	ASSERT_EQ(sizeof(expected), (size_t)(made.end - made.at));
	EXPECT_EQ(0, memcmp(made.at, expected, sizeof(expected)));
	mf_cfi_deinit(&cfi);
}

/*
 * Whatever bytes the rules contain, nothing outside them is read (see host/sanitized), and any FDEs found are
 * complete.
 */
TEST(damaged_rules)
{
	uint32_t seed = 1, found_some = 0;

	for (unsigned int round = 0; round < 200000; round++) {
		struct mf_cfi cfi = rules_with(programs[round % 6].bytes, programs[round % 6].n);
		struct mf_cfi_found found = { 0 };

		for (unsigned int i = 0; i < 1 + round % 3; i++) {
			seed = seed * 1664525 + 1013904223;
			((uint8_t *)(uintptr_t)cfi.rules)[seed / 256 % cfi.size] ^= (uint8_t)(1u << (seed >> 29));
		}
		seed = seed * 1664525 + 1013904223;
		((struct mf_cfi_entry *)(uintptr_t)cfi.entries[MF_CFI_OTHER])->rules ^= seed >> 28 ? 0 : seed;
		if (mf_cfi_find(&cfi, CODE + 50, &found)) {
			struct mf_dwarf program = program_of(&cfi, &found);

			found_some++;
			ASSERT_TRUE(program.at >= cfi.rules && program.end <= cfi.rules + cfi.size);
			ASSERT_TRUE(mf_cfi_is_safe(program));
		}
		mf_cfi_deinit(&cfi);
	}
	EXPECT_LT(10000, found_some);
	EXPECT_GT(190000, found_some);
}

TEST_HARNESS_MAIN
