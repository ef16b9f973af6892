// SPDX-License-Identifier: GPL-2.0
// Finds rows of call frame information in tables that the test writes: tables that compilers seldom generate, and
// invalid tables.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "selftests/lib/unwind_object.h"
#include "cfi/program.h"
#include "cfi/rows.h"

static struct mf_row find(const struct unwind_object *object, uint64_t at)
{
	const struct mf_rows_object rows = {
		.start = object->bytes,
		.end = object->bytes + sizeof(object->bytes),
		.header = object->bytes,
	};

	return mf_rows_find(&rows, (uintptr_t)object->bytes + UNWIND_OBJECT_CODE + at);
}

/* Returns the row for an address in an object without a search table. */
static struct mf_row find_without_index(const struct unwind_object *object, uint64_t at)
{
	const struct mf_rows_object rows = {
		.start = object->bytes,
		.end = object->bytes + sizeof(object->bytes),
		.frames = object->bytes + UNWIND_OBJECT_CIE,
		.frames_size = object->n - UNWIND_OBJECT_CIE,
	};

	return mf_rows_find(&rows, (uintptr_t)object->bytes + UNWIND_OBJECT_CODE + at);
}

/* Returns the offset of the object's FDE. */
static int32_t fde_of(const struct unwind_object *object)
{
	int32_t fde;

	memcpy(&fde, object->bytes + 16, sizeof(fde));
	return fde;
}

#define BYTES(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

/* LEB128 encodings of the smallest signed 64-bit number and of 2^40. */
#define LEAST 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f
#define FAR   0x80, 0x80, 0x80, 0x80, 0x80, 0x20

static const struct {
	const char *what;
	bool signal;
	uint8_t program[UNWIND_OBJECT_PROGRAM];
	size_t size;
	struct {
		uint64_t at;
		enum mf_cfa_kind cfa;
		int32_t offset;
	} wanted[3];
} rows[] = {
	{ "nothing", false, BYTES(0), { { 10, MF_CFA_SP, 8 } } },
	{ "pushes", false, BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6),
	  { { 0, MF_CFA_SP, 8 }, { 3, MF_CFA_SP, 16 }, { 4, MF_CFA_FP, 16 } } },
	{ "outermost", false, BYTES(0x07, 16), { { 10, MF_CFA_END, 0 } } },
	{ "outermost for a while", false, BYTES(0x07, 16, 0x4a, 0x90, 1),
	  { { 9, MF_CFA_END, 0 }, { 10, MF_CFA_SP, 8 } } },
	{ "outermost until restored", false, BYTES(0x07, 16, 0x4a, 0xd0),
	  { { 9, MF_CFA_END, 0 }, { 10, MF_CFA_SP, 8 } } },
	{ "outermost, then elsewhere", false, BYTES(0x07, 16, 0x4a, 0x90, 29),
	  { { 9, MF_CFA_END, 0 }, { 10, MF_CFA_UNKNOWN, 0 } } },
	{ "elsewhere for a while", false, BYTES(0x90, 3, 0x4a, 0x90, 1),
	  { { 9, MF_CFA_UNKNOWN, 0 }, { 10, MF_CFA_SP, 8 } } },
	{ "what is stored", false, BYTES(0x0f, 3, 0x76, 0x78, 0x06), { { 10, MF_CFA_FP_INDIRECT, -8 } } },
	{ "the linked frame's", false, BYTES(0x0f, 5, 0x76, 0, 0x06, 0x40, 0x22), { { 10, MF_CFA_FP_LINK, 16 } } },
	{ "the same, otherwise said", false, BYTES(0x0f, 5, 0x76, 0, 0x06, 0x23, 24), { { 10, MF_CFA_FP_LINK, 24 } } },
	{ "two offsets", false, BYTES(0x0f, 5, 0x76, 8, 0x06, 0x40, 0x22), { { 10, MF_CFA_UNKNOWN, 0 } } },
	{ "a product", false, BYTES(0x0f, 5, 0x76, 0, 0x06, 0x40, 0x1e), { { 10, MF_CFA_UNKNOWN, 0 } } },
	{ "plus nothing", false, BYTES(0x0f, 4, 0x76, 0, 0x06, 0x40), { { 10, MF_CFA_UNKNOWN, 0 } } },
	{ "what the kernel returns to", true, BYTES(0x0f, 4, 0x77, 0xa0, 1, 0x06),
	  { { 10, MF_CFA_SIGNAL, 0 } } },
	/* The rule of a signal frame is unknown if the registers are not where the kernel saves them. */
	{ "a jump that says it was interrupted", true, BYTES(0x0e, 0x88, 1, 0x07, 16),
	  { { 10, MF_CFA_UNKNOWN, 0 } } },
	{ "far too far", false, BYTES(0x11, 6, LEAST, 0x13, LEAST), { { 10, MF_CFA_UNKNOWN, 0 } } },
	{ "and farther", false, BYTES(0x05, 6, FAR, 0x0e, FAR), { { 10, MF_CFA_UNKNOWN, 0 } } },
	{ "states that nobody kept", false, BYTES(0x0b), { { 10, MF_CFA_UNKNOWN, 0 } } },
	{ "no end of a number", false, BYTES(0x0e, 0x80, 0x80, 0x80), { { 10, MF_CFA_SP, 0 } } },
	{ "an unknown instruction", false, BYTES(0x3f), { { 10, MF_CFA_UNKNOWN, 0 } } },
	/*
	 * DW_CFA_set_loc (0x01) moves the code address backwards, into the unwind tables themselves, which lie below
	 * the code.
	 */
	{ "a row before the last one", false, BYTES(0x4a, 0x01, 0, 0, 0, 0),
	  { { 5, MF_CFA_SP, 8 }, { 20, MF_CFA_UNKNOWN, 0 } } },
};

TEST(instructions)
{
	struct unwind_object object;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unwind_object_make(&object, rows[i].signal, rows[i].program, rows[i].size);
		for (size_t j = 0; j < 3 && (!j || rows[i].wanted[j].cfa); j++) {
			struct mf_row row = find(&object, rows[i].wanted[j].at);
			struct mf_row slowly = find_without_index(&object, rows[i].wanted[j].at);

			EXPECT_EQ(0, memcmp(&row, &slowly, sizeof(row))) {
				TH_LOG("%s, at %u", rows[i].what, (unsigned int)rows[i].wanted[j].at);
			}
			EXPECT_EQ(rows[i].wanted[j].cfa, row.rule.cfa) {
				TH_LOG("%s, at %u", rows[i].what, (unsigned int)rows[i].wanted[j].at);
			}
			if (rows[i].wanted[j].cfa != MF_CFA_UNKNOWN && rows[i].wanted[j].cfa != MF_CFA_END) {
				EXPECT_EQ(rows[i].wanted[j].offset, row.rule.cfa_offset);
			}
		}
		EXPECT_EQ(MF_CFA_NONE, find(&object, UNWIND_OBJECT_CODE_SIZE).rule.cfa);
		EXPECT_EQ(MF_CFA_NONE, find_without_index(&object, UNWIND_OBJECT_CODE_SIZE).rule.cfa);
		EXPECT_EQ(MF_CFA_NONE, find_without_index(&object, -1ull).rule.cfa);
	}
}

/* The rule is found if at most 16 states are saved at a time (DW_CFA_remember_state). With more, it is unknown. */
TEST(states_within_states)
{
	static const struct {
		size_t depth;
		enum mf_cfa_kind wanted;
	} cases[] = { { 16, MF_CFA_SP }, { 17, MF_CFA_UNKNOWN }, { 160, MF_CFA_UNKNOWN } };
	struct unwind_object object;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t program[330];

		memset(program, 0x0a, cases[i].depth);
		memset(program + cases[i].depth, 0x0b, cases[i].depth);
		unwind_object_make(&object, false, program, 2 * cases[i].depth);
		EXPECT_EQ(cases[i].wanted, find(&object, 10).rule.cfa) {
			TH_LOG("%zu", cases[i].depth);
		}
	}
}

/* The program of a function, and that of its CIE, are followed if they have at most 65536 bytes. */
TEST(length_of_a_program)
{
	static const size_t lengths[] = { 65536, 65537, 655360 };
	static const uint8_t define[] = { 0x0c, 7, 16 }, wanted[MF_PROGRAM_REGISTERS] = { 6, 16 };
	uint8_t *program = calloc(1, 655360);

	ASSERT_NE(NULL, program);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct mf_dwarf long_one = { .at = program, .end = program + lengths[i] };
		const struct mf_dwarf short_one = { .at = define, .end = define + sizeof(define) };
		struct mf_description of_function = { .cie = { .code_align = 1 }, .program = long_one, .size = 100 };
		struct mf_description of_cie = { .cie = { .code_align = 1, .program = long_one }, .size = 100 };
		uint8_t *last = program + lengths[i] - sizeof(define);
		uint64_t start, end;

		/* DW_CFA_nop, except for the last instruction: DW_CFA_def_cfa. */
		memcpy(last, define, sizeof(define));
		of_function.cie.program = short_one;
		EXPECT_EQ(i > 0, mf_program_run(&of_function, wanted, 10, &start, &end).cfa.kind == MF_PLACE_UNKNOWN);
		EXPECT_EQ(i > 0, mf_program_run(&of_cie, wanted, 10, &start, &end).cfa.kind == MF_PLACE_UNKNOWN);
		memset(last, 0, sizeof(define));
	}
	free(program);
}

/* Code that ends before it begins, or that wraps around the address space. */
TEST(code_around_the_end)
{
	static const uint8_t nothing[] = { 0 };
	static const int32_t sizes[] = { -1, -100, INT32_MIN };
	struct unwind_object object;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unwind_object_make(&object, false, nothing, sizeof(nothing));
		/*
		 * The FDE contains, in this order, its length, the offset of the CIE, the start of the code, and
		 * the size of the code.
		 */
		memcpy(object.bytes + fde_of(&object) + 12, &sizes[i], sizeof(sizes[i]));
		EXPECT_EQ(MF_CFA_UNKNOWN, find(&object, 10).rule.cfa);
		EXPECT_EQ(MF_CFA_NONE, find_without_index(&object, 10).rule.cfa);
		EXPECT_EQ(MF_CFA_NONE, find_without_index(&object, -1ull).rule.cfa);
	}
}

/* Offsets in .eh_frame_hdr as written by unwind_object_make(). */
enum { COUNT_ENCODING = 2, TABLE_ENCODING = 3, COUNT = 8 };

/*
 * If the unwind tables do not describe a code address, the look-up yields MF_CFA_NONE. It yields MF_CFA_UNKNOWN only if
 * the tables cannot be read.
 */
TEST(code_without_a_description)
{
	static const struct {
		const char *what;
		uint8_t at, value;
		enum mf_cfa_kind wanted;
	} headers[] = {
		{ "one entry", COUNT, 1, MF_CFA_SP },
		{ "an empty table", COUNT, 0, MF_CFA_NONE },
		{ "no count", COUNT_ENCODING, 0xff, MF_CFA_UNKNOWN },
		{ "no table", TABLE_ENCODING, 0xff, MF_CFA_UNKNOWN },
		{ "a table of another form", TABLE_ENCODING, 0x1b, MF_CFA_UNKNOWN },
		{ "more entries than the object has bytes", COUNT + 3, 1, MF_CFA_UNKNOWN },
	};
	struct unwind_object object;

	unwind_object_make(&object, false, NULL, 0);
	EXPECT_EQ(MF_CFA_SP, find(&object, 0).rule.cfa);
	/* There is no row for the last byte before the first FDE's code, nor for a byte far before it. */
	EXPECT_EQ(MF_CFA_NONE, find(&object, -1ull).rule.cfa);
	EXPECT_EQ(MF_CFA_NONE, find(&object, -1000ull).rule.cfa);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		unwind_object_make(&object, false, NULL, 0);
		object.bytes[headers[i].at] = headers[i].value;
		EXPECT_EQ(headers[i].wanted, find(&object, 10).rule.cfa) {
			TH_LOG("%s", headers[i].what);
		}
	}
}

/* Whatever instructions and pointers the tables contain, nothing outside the object is read. */
TEST(any_bytes)
{
	static const uint8_t likely[] = { 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x16, 0x0a, 0x0b, 0x41,
					  0x86, 0x90, 0xc6, 0x02, 0x04, 0x01, 0x07, 0x05, 0xff, 0x80 };
	uint64_t seed = 5;
	struct unwind_object object;

	for (int i = 0; i < 200000; i++) {
		uint8_t program[UNWIND_OBJECT_PROGRAM];

		for (size_t j = 0; j < sizeof(program); j++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			program[j] = seed >> 62 ? likely[(seed >> 33) % sizeof(likely)] :
						  (uint8_t)(seed >> 40);
		}
		unwind_object_make(&object, i % 7 == 0, program, sizeof(program));
		if (i % 2)
			object.bytes[(seed >> 33) % 200] = (uint8_t)(seed >> 25);
		for (uint64_t at = 0; at < UNWIND_OBJECT_CODE_SIZE; at += 9) {
			struct mf_row row = i % 3 ? find(&object, at) : find_without_index(&object, at);

			ASSERT_LE(row.rule.cfa, MF_CFA_FP_LINK);
		}
	}
}

TEST_HARNESS_MAIN
