// SPDX-License-Identifier: GPL-2.0
// Lengths and targets of instructions, compared with objdump for all instructions of real libraries.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "preload/patch/instruction.h"

#define BYTES_MAX 32

/* A line of `objdump -d -w --show-raw-insn`: address, bytes, text. */
struct line {
	unsigned long address;
	uint8_t bytes[BYTES_MAX];
	size_t n;
	char *text;
};

static bool read_line(struct line *line, char *from)
{
	char *at = strchr(from, '\t'), *end;

	line->address = strtoul(from, NULL, 16);
	line->n = 0;
	while (at && *at != '\n' && line->n < BYTES_MAX) {
		unsigned long byte = strtoul(at, &end, 16);

		if (end == at)
			break;
		line->bytes[line->n++] = (uint8_t)byte;
		at = end + strspn(end, " ");
		if (*at == '\t')
			break;
	}
	if (!at || *at != '\t' || !line->n)
		return false;
	line->text = at + 1;
	/* objdump shows a coprocessor wait and the instruction after it as one instruction. */
	return !strstr(line->text, "(bad)") && !strstr(line->text, ".byte") &&
	       (line->bytes[0] != 0x9b || line->n == 1);
}

static bool leads_beside(enum mf_flow flow)
{
	return flow == MF_FLOW_BRANCH || flow == MF_FLOW_SHORT_BRANCH || flow == MF_FLOW_JUMP ||
	       flow == MF_FLOW_CALL;
}

/* Returns the number before the last `<`, which is the target address, or 0 if there is none. */
static unsigned long target_of(const char *text)
{
	const char *end = strrchr(text, '<'), *at = end;

	if (!end || end - text < 2 || strchr(text, '#'))
		return 0;
	for (at = end - 1; at > text && at[-1] != ' ' && at[-1] != '\t';)
		at--;
	return at[0] == '*' ? 0 : strtoul(at, NULL, 16);
}

static bool is_right(const struct line *line, const struct mf_instruction *in)
{
	if (in->length != line->n || !in->near_offset != !strstr(line->text, "(%rip)"))
		return false;
	if (leads_beside(in->flow))
		return target_of(line->text) == line->address + line->n + (unsigned long)in->distance;
	return !target_of(line->text);
}

FIXTURE(instruction) {
	FILE *listing;
};

FIXTURE_VARIANT(instruction) {
	const char *library;
};

FIXTURE_VARIANT_ADD(instruction, libc) { .library = "libc.so.6" };
FIXTURE_VARIANT_ADD(instruction, libm) { .library = "libm.so.6" };
FIXTURE_VARIANT_ADD(instruction, libstdcxx) { .library = "libstdc++.so.6" };
FIXTURE_VARIANT_ADD(instruction, jemalloc) { .library = "libjemalloc.so.2" };
FIXTURE_VARIANT_ADD(instruction, tcmalloc) { .library = "libtcmalloc_minimal.so.4" };

FIXTURE_SETUP(instruction)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "objdump -d -w --show-raw-insn \"$(/sbin/ldconfig -p | awk '$1 == \"%s\" && /x86-64/ "
		 "{ print $NF; exit }')\"", variant->library);
	self->listing = popen(command, "r");
	ASSERT_NE(NULL, self->listing);
}

FIXTURE_TEARDOWN(instruction)
{
	pclose(self->listing);
}

TEST_F(instruction, as_objdump_has_them)
{
	unsigned long n = 0, wrong = 0, refused = 0;
	struct mf_instruction in;
	struct line line;
	char *text = NULL;
	size_t room = 0;

	while (getline(&text, &room, self->listing) > 0) {
		if (!read_line(&line, text))
			continue;
		n++;
		if (!mf_instruction_read(line.bytes, line.n, &in)) {
			/* xbegin is the only instruction in the listing that mf_instruction_read() may refuse. */
			refused += !strstr(line.text, "xbegin");
		} else if (!is_right(&line, &in)) {
			if (!wrong++)
				TH_LOG("%u bytes of %s", in.length, text);
		}
	}
	free(text);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, refused);
	/* If objdump listed fewer instructions than this, it must have failed. */
	EXPECT_LT(5000, n);
}

/*
 * An instruction that begins with the opcode byte of a pop to memory (0x8f) is a pop only if the register field of the
 * next byte is 0. Otherwise it is a longer XOP instruction, which is refused.
 */
TEST(withdrawn)
{
	static const uint8_t pop[] = { 0x8f, 0x00, 0x90, 0x90, 0x90, 0x90 };
	static const uint8_t vprotd[] = { 0x8f, 0xe8, 0x78, 0xc2, 0xc1, 0x07 };
	struct mf_instruction in;

	EXPECT_TRUE(mf_instruction_read(pop, sizeof(pop), &in));
	EXPECT_EQ(2, in.length);
	EXPECT_FALSE(mf_instruction_read(vprotd, sizeof(vprotd), &in));
}

/* A truncated instruction is rejected, and nothing beyond the given bytes is read. */
TEST(cut_off)
{
	static const uint8_t code[] = { 0x48, 0x8b, 0x84, 0x24, 0x80, 0x00, 0x00, 0x00 };
	struct mf_instruction in;

	for (size_t n = 0; n < sizeof(code); n++) {
		uint8_t *exact = malloc(n ? n : 1);

		ASSERT_NE(NULL, exact);
		memcpy(exact, code, n);
		EXPECT_FALSE(mf_instruction_read(exact, n, &in));
		free(exact);
	}
	ASSERT_TRUE(mf_instruction_read(code, sizeof(code), &in));
	EXPECT_EQ(sizeof(code), in.length);
}

TEST_HARNESS_MAIN
