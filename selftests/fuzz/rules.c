// SPDX-License-Identifier: GPL-2.0
// Fuzzes the code with which the shim reads unwind tables (userland/cfi).
//
// An input consists of the position of .eh_frame_hdr in an object and the position and size of .eh_frame (six bytes in
// total), followed by the object itself.

#include "selftests/fuzz/fuzz.h"

#include <stdbool.h>

#include "cfi/frame.h"
#include "cfi/rowfile.h"
#include "cfi/rows.h"

#define PLACES_MAX 256 /* maximum number of code addresses looked up per object */

/* Simulated memory: the contents of each machine word are computed from its address. One page is unmapped. */
static bool read_word(uint64_t address, uint64_t *word, void *data)
{
	if (address >> 12 == 0x7ffe0)
		return false;
	*word = address * 0x9e3779b97f4a7c15ull;
	return true;
}

static void undo(const struct mf_rows_object *object, uint64_t pc)
{
	struct mf_expression_registers registers = { .known = (1u << MF_EXPRESSION_REGISTERS) - 1 }, before;
	bool exact = false;

	for (unsigned int i = 0; i < MF_EXPRESSION_REGISTERS; i++)
		registers.value[i] = 0x7ffe00000ull + 4096 * i;
	before = registers;
	if (mf_frame_undo(object, pc, &registers, &exact, read_word, NULL) != MF_FRAME_DONE)
		fuzz_require(!memcmp(&before, &registers, sizeof(before)));
}

static struct mf_row ask(const struct mf_rows_object *object, uint64_t pc)
{
	struct mf_row row = mf_rows_find(object, pc), again = mf_rows_find(object, pc);

	fuzz_require(row.rule.cfa <= MF_CFA_FP_LINK && row.rule.fp <= MF_FP_AT_FP);
	fuzz_require(row.rule.cfa == again.rule.cfa && row.rule.cfa_offset == again.rule.cfa_offset);
	if (mf_rowfile_holds(&row.rule))
		fuzz_require(row.start <= pc && pc < row.end);
	mf_rows_is_start(object, pc);
	undo(object, pc);
	return row;
}

/*
 * Looks up consecutive rows of the unwind tables, starting at address @pc, until there is one whose rule cannot be
 * cached.
 */
static void follow(const struct mf_rows_object *object, uint64_t pc)
{
	for (int i = 0; i < 8; i++) {
		struct mf_row row = ask(object, pc);

		if (!mf_rowfile_holds(&row.rule))
			break;
		pc = row.end;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint16_t header = fuzz_u16(&input), frames = fuzz_u16(&input), frames_size = fuzz_u16(&input);
	uint8_t *bytes = malloc(input.left);
	struct mf_rows_object object = { .start = bytes, .end = bytes + input.left };
	const uint8_t *table;

	if (!bytes)
		return 0;
	memcpy(bytes, input.at, input.left);
	if (header != 0xffff)
		object.header = bytes + header;
	if (frames != 0xffff) {
		object.frames = bytes + frames;
		object.frames_size = frames_size;
	}
	ask(&object, 0);
	ask(&object, UINT64_MAX);
	table = bytes + (header == 0xffff ? frames : header);
	/*
	 * Any group of four bytes may be a code address in the object's unwind tables, so look up the row for that
	 * address and the rows after it. In the search table of .eh_frame_hdr, a function's address is relative to the
	 * start of .eh_frame_hdr. If the object has no .eh_frame_hdr, try the address relative to the start of
	 * .eh_frame and relative to the four bytes themselves.
	 */
	for (size_t at = 0, n = 0; at + 4 <= input.left && n < PLACES_MAX; at += 4, n++) {
		int32_t distance;

		memcpy(&distance, bytes + at, sizeof(distance));
		follow(&object, (uint64_t)(uintptr_t)table + (uint64_t)(int64_t)distance);
		if (!object.header)
			follow(&object, (uint64_t)(uintptr_t)(bytes + at) + (uint64_t)(int64_t)distance);
	}
	free(bytes);
	return 0;
}
