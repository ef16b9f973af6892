// SPDX-License-Identifier: GPL-2.0
// Finds all registers of a frame's caller, using unwind rules written by the test. Checks the results of DWARF
// expressions, and their limits.

#include <stdint.h>
#include <string.h>

#include "kselftest_harness.h"
#include "selftests/lib/unwind_object.h"
#include "cfi/frame.h"

#define SP 0x7000u

/* Simulated memory: every word below 0x8000 contains its address plus one. */
static bool read_word(uint64_t address, uint64_t *word, void *data)
{
	++*(unsigned int *)data;
	*word = address + 1;
	return address < 0x8000;
}

/* Every register contains its number times 0x100, except for the stack pointer; register 0 is unknown. */
static struct mf_expression_registers registers_at_first(void)
{
	struct mf_expression_registers registers = { .known = 0x1fffe };

	for (unsigned int i = 0; i < MF_EXPRESSION_REGISTERS; i++)
		registers.value[i] = i * 0x100;
	registers.value[MF_DWARF_RSP] = SP;
	return registers;
}

#define BYTES(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

#define MINUS(n) 0x09, (uint8_t)-(n) /* the expression for the constant -n: DW_OP_const1s and its operand */

static const struct {
	const char *what;
	uint8_t bytes[24];
	size_t size;
	bool fails;
	uint64_t wanted;
} expressions[] = {
	{ "a literal", BYTES(0x4f), false, 31 },
	{ "an address", BYTES(0x03, 1, 2, 3, 4, 5, 6, 7, 8), false, 0x0807060504030201 },
	{ "one byte", BYTES(0x08, 0xff), false, 255 },
	{ "one byte, signed", BYTES(MINUS(1)), false, -1ull },
	{ "two bytes", BYTES(0x0a, 0xfe, 0xff), false, 0xfffe },
	{ "two bytes, signed", BYTES(0x0b, 0xfe, 0xff), false, -2ull },
	{ "four bytes", BYTES(0x0c, 0xfd, 0xff, 0xff, 0xff), false, 0xfffffffd },
	{ "four bytes, signed", BYTES(0x0d, 0xfd, 0xff, 0xff, 0xff), false, -3ull },
	{ "eight bytes", BYTES(0x0e, 1, 0, 0, 0, 0, 0, 0, 0x80), false, 0x8000000000000001 },
	{ "any number", BYTES(0x10, 0x81, 1), false, 129 },
	{ "any number, signed", BYTES(0x11, 0x7f), false, -1ull },
	{ "a number without end", BYTES(0x10, 0x80), false, 0 },
	{ "a register", BYTES(0x53), false, 0x300 },
	{ "a register and more", BYTES(0x73, 8), false, 0x308 },
	{ "a register by number", BYTES(0x90, 12), false, 0xc00 },
	{ "a register by number, and less", BYTES(0x92, 12, 0x78), false, 0xbf8 },
	{ "a register that is not known", BYTES(0x70, 0), true, 0 },
	{ "a register that there is not", BYTES(0x90, 17), true, 0 },
	{ "a number of one that there is not", BYTES(0x92, 0x80, 0x80, 4, 0), true, 0 },
	{ "what is stored", BYTES(0x73, 8, 0x06), false, 0x309 },
	{ "what is stored, one byte of it", BYTES(0x0a, 0x10, 0x72, 0x94, 1), false, 0x11 },
	{ "what is stored, all bytes of it", BYTES(0x73, 8, 0x94, 8), false, 0x309 },
	{ "what is stored, more bytes of it", BYTES(0x73, 8, 0x94, 9), true, 0 },
	{ "what is stored, none of it", BYTES(0x73, 8, 0x94, 0), true, 0 },
	{ "what is nowhere", BYTES(0x0a, 0, 0x80, 0x06), true, 0 },
	{ "what is stored at nothing", BYTES(0x06), true, 0 },
	{ "twice", BYTES(0x33, 0x12, 0x1e), false, 9 },
	{ "the last but one", BYTES(0x33, 0x34, 0x14, 0x1c), false, 1 },
	{ "the last but two", BYTES(0x33, 0x34, 0x35, 0x15, 2), false, 3 },
	{ "what is below the first", BYTES(0x33, 0x15, 1), true, 0 },
	{ "exchanged", BYTES(0x33, 0x34, 0x16, 0x1c), false, 1 },
	{ "dropped", BYTES(0x33, 0x34, 0x13), false, 3 },
	{ "dropped altogether", BYTES(0x33, 0x13), true, 0 },
	{ "turned", BYTES(0x31, 0x32, 0x33, 0x17, 0x13), false, 1 },
	{ "turned, too few", BYTES(0x31, 0x32, 0x17), true, 0 },
	{ "without a sign", BYTES(MINUS(5), 0x19), false, 5 },
	{ "the negative", BYTES(0x35, 0x1f), false, -5ull },
	{ "the complement", BYTES(0x35, 0x20), false, ~5ull },
	{ "and", BYTES(0x36, 0x33, 0x1a), false, 2 },
	{ "or", BYTES(0x36, 0x33, 0x21), false, 7 },
	{ "exclusive or", BYTES(0x36, 0x33, 0x27), false, 5 },
	{ "sum", BYTES(0x36, 0x33, 0x22), false, 9 },
	{ "sum with a constant", BYTES(0x36, 0x23, 0x80, 1), false, 134 },
	{ "difference", BYTES(0x33, 0x36, 0x1c), false, -3ull },
	{ "product", BYTES(0x36, 0x33, 0x1e), false, 18 },
	{ "quotient, signed", BYTES(MINUS(7), 0x32, 0x1b), false, -3ull },
	{ "quotient by nothing", BYTES(0x37, 0x30, 0x1b), true, 0 },
	{ "quotient that overflows", BYTES(0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, MINUS(1), 0x1b), false, 1ull << 63 },
	{ "rest", BYTES(0x37, 0x34, 0x1d), false, 3 },
	{ "rest by nothing", BYTES(0x37, 0x30, 0x1d), true, 0 },
	{ "shifted to the left", BYTES(0x31, 0x34, 0x24), false, 16 },
	{ "shifted far to the left", BYTES(0x31, 0x08, 64, 0x24), false, 0 },
	{ "shifted to the right", BYTES(MINUS(1), 0x08, 63, 0x25), false, 1 },
	{ "shifted far to the right", BYTES(MINUS(1), 0x08, 64, 0x25), false, 0 },
	{ "shifted with the sign", BYTES(MINUS(8), 0x31, 0x26), false, -4ull },
	{ "shifted far with the sign", BYTES(MINUS(8), 0x08, 200, 0x26), false, -1ull },
	{ "equal", BYTES(0x33, 0x33, 0x29), false, 1 },
	{ "no less, signed", BYTES(MINUS(1), 0x31, 0x2a), false, 0 },
	{ "greater, signed", BYTES(0x31, MINUS(1), 0x2b), false, 1 },
	{ "no greater, signed", BYTES(MINUS(1), 0x31, 0x2c), false, 1 },
	{ "less, signed", BYTES(0x31, MINUS(1), 0x2d), false, 0 },
	{ "unequal", BYTES(0x31, 0x32, 0x2e), false, 1 },
	{ "over something", BYTES(0x31, 0x2f, 1, 0, 0x32), false, 1 },
	{ "over it if it is so", BYTES(0x35, 0x31, 0x28, 1, 0, 0x32), false, 5 },
	{ "not over it if it is not", BYTES(0x35, 0x30, 0x28, 1, 0, 0x32), false, 2 },
	{ "to the very end", BYTES(0x35, 0x2f, 1, 0, 0x32), false, 5 },
	{ "beyond the end", BYTES(0x35, 0x2f, 2, 0, 0x32), true, 0 },
	{ "to the very beginning, and again", BYTES(0x2f, 0xfd, 0xff), true, 0 },
	{ "before the beginning", BYTES(0x2f, 0xfc, 0xff), true, 0 },
	{ "counted down", BYTES(0x3a, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff), false, 0 },
	{ "nothing at all", BYTES(0x96), true, 0 },
	{ "an unknown operation", BYTES(0x33, 0x33, 0xff), true, 0 },
	{ "two operands of one", BYTES(0x33, 0x22), true, 0 },
};

TEST(what_expressions_give)
{
	const struct mf_expression_registers registers = registers_at_first();

	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
		const uint8_t *bytes = expressions[i].bytes;
		unsigned int reads = 0;
		uint64_t value = 0;
		bool done = mf_expression_evaluate((struct mf_dwarf){ bytes, bytes + expressions[i].size }, NULL,
						   &registers, read_word, &reads, &value);

		EXPECT_EQ(expressions[i].fails, !done) {
			TH_LOG("%s", expressions[i].what);
		}
		if (done) {
			EXPECT_EQ(expressions[i].wanted, value) {
				TH_LOG("%s", expressions[i].what);
			}
		}
	}
}

/* Evaluates an expression of @n bytes: @first, followed by operations of type @op. */
static bool evaluate(uint8_t first, uint8_t op, size_t n)
{
	const struct mf_expression_registers registers = registers_at_first();
	static uint8_t bytes[10000];
	unsigned int reads = 0;
	uint64_t value;

	memset(bytes, op, n);
	bytes[0] = first;
	return mf_expression_evaluate((struct mf_dwarf){ bytes, bytes + n }, NULL, &registers, read_word, &reads,
				      &value);
}

TEST(values_of_an_expression)
{
	EXPECT_TRUE(evaluate(0x30, 0x30, MF_EXPRESSION_STACK_MAX));
	EXPECT_FALSE(evaluate(0x30, 0x30, MF_EXPRESSION_STACK_MAX + 1));
	EXPECT_FALSE(evaluate(0x30, 0x30, 10 * MF_EXPRESSION_STACK_MAX));
}

TEST(length_of_an_expression)
{
	EXPECT_TRUE(evaluate(0x30, 0x96, MF_EXPRESSION_STEPS_MAX));
	EXPECT_FALSE(evaluate(0x30, 0x96, MF_EXPRESSION_STEPS_MAX + 1));
	EXPECT_FALSE(evaluate(0x30, 0x96, 10 * MF_EXPRESSION_STEPS_MAX));
}

enum { RBX = 3, RBP = 6, R12 = 12 };

static const struct {
	const char *what;
	bool signal;
	uint8_t program[24];
	size_t size;
	enum mf_frame_undone undone;
	uint64_t ra, sp;
	uint8_t reg; /* number of another register, whose value in the caller must be @value; 0: none */
	bool known;
	uint64_t value;
} frames[] = {
	{ "what is usual", false, BYTES(0), MF_FRAME_DONE, SP + 1, SP + 8, RBX, true, 0x300 },
	{ "one that was not known", false, BYTES(0), MF_FRAME_DONE, SP + 1, SP + 8, 0, false, 0 },
	{ "saved", false, BYTES(0x0e, 24, 0x83, 2), MF_FRAME_DONE, SP + 17, SP + 24, RBX, true, SP + 9 },
	{ "saved, then restored", false, BYTES(0x0e, 24, 0x83, 2, 0xc3), MF_FRAME_DONE, SP + 17, SP + 24, RBX, true,
	  0x300 },
	{ "in another register", false, BYTES(0x09, RBX, R12), MF_FRAME_DONE, SP + 1, SP + 8, RBX, true, 0xc00 },
	{ "in one that there is not", false, BYTES(0x09, RBX, 0x80, 2), MF_FRAME_DONE, SP + 1, SP + 8, RBX, false, 0 },
	{ "undefined", false, BYTES(0x07, RBX), MF_FRAME_DONE, SP + 1, SP + 8, RBX, false, 0 },
	{ "undefined, then the same", false, BYTES(0x07, RBX, 0x08, RBX), MF_FRAME_DONE, SP + 1, SP + 8, RBX, true,
	  0x300 },
	{ "the CFA itself, and more", false, BYTES(0x14, RBX, 2), MF_FRAME_DONE, SP + 1, SP + 8, RBX, true, SP - 8 },
	{ "stored where an expression says", false, BYTES(0x10, RBX, 2, 0x7c, 8), MF_FRAME_DONE, SP + 1, SP + 8, RBX,
	  true, 0xc09 },
	{ "what an expression gives", false, BYTES(0x16, RBX, 2, 0x7c, 8), MF_FRAME_DONE, SP + 1, SP + 8, RBX, true,
	  0xc08 },
	{ "an expression begins with the CFA", false, BYTES(0x16, RBX, 2, 0x23, 8), MF_FRAME_DONE, SP + 1, SP + 8, RBX,
	  true, SP + 16 },
	{ "the stack pointer is told", false, BYTES(0x14, 7, 0x7f), MF_FRAME_DONE, SP + 1, SP + 8 - 1016, 0,
	  false, 0 },
	{ "by another register", false, BYTES(0x0c, RBX, 16), MF_FRAME_DONE, 0x309, 0x310, 0, false, 0 },
	{ "by what an expression gives", false, BYTES(0x0f, 2, 0x7c, 8), MF_FRAME_DONE, 0xc01, 0xc08, 0, false, 0 },
	{ "by one that is not known", false, BYTES(0x0c, 0, 16), MF_FRAME_LOST, 0, 0, 0, false, 0 },
	{ "by an expression that fails", false, BYTES(0x0f, 1, 0x22), MF_FRAME_LOST, 0, 0, 0, false, 0 },
	{ "by what is nowhere", false, BYTES(0x0e, 0x80, 0x40), MF_FRAME_LOST, 0, 0, 0, false, 0 },
	{ "the return address is elsewhere", false, BYTES(0x0e, 24, 0x90, 3), MF_FRAME_DONE, SP + 1, SP + 24, 0, false,
	  0 },
	{ "in a register", false, BYTES(0x09, 16, RBX), MF_FRAME_DONE, 0x300, SP + 8, 0, false, 0 },
	{ "the outermost", false, BYTES(0x07, 16), MF_FRAME_END, 0, 0, 0, false, 0 },
	{ "an offset behind an expression", false, BYTES(0x0f, 2, 0x7c, 8, 0x0e, 8), MF_FRAME_LOST, 0, 0, 0, false, 0 },
	{ "interrupted", true, BYTES(0), MF_FRAME_DONE, SP + 1, SP + 8, RBP, true, 0x600 },
	{ "an unknown instruction", false, BYTES(0x3f), MF_FRAME_LOST, 0, 0, 0, false, 0 },
};

TEST(registers_of_the_caller)
{
	struct unwind_object made;
	const struct mf_rows_object object = {
		.start = made.bytes, .end = made.bytes + sizeof(made.bytes), .header = made.bytes,
	};

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct mf_expression_registers registers = registers_at_first(), before = registers;
		unsigned int reads = 0;
		bool exact = false;

		TH_LOG("%s", frames[i].what);
		unwind_object_make(&made, frames[i].signal, frames[i].program, frames[i].size);
		EXPECT_EQ(frames[i].undone, mf_frame_undo(&object, (uintptr_t)made.bytes + UNWIND_OBJECT_CODE + 10,
							  &registers, &exact, read_word, &reads));
		if (frames[i].undone != MF_FRAME_DONE) {
			EXPECT_EQ(0, memcmp(&before, &registers, sizeof(before)));
			continue;
		}
		EXPECT_EQ(frames[i].signal, exact);
		EXPECT_EQ(frames[i].sp, registers.value[MF_DWARF_RSP]);
		EXPECT_EQ(frames[i].ra, registers.value[MF_DWARF_RA]);
		EXPECT_EQ(frames[i].known, registers.known >> frames[i].reg & 1);
		if (frames[i].known) {
			EXPECT_EQ(frames[i].value, registers.value[frames[i].reg]);
		}
		EXPECT_EQ(MF_FRAME_LOST, mf_frame_undo(&object, (uintptr_t)made.bytes, &registers, &exact, read_word,
						       &reads));
	}
}

TEST_HARNESS_MAIN
