// SPDX-License-Identifier: GPL-2.0
// Fuzzes all functions of the shim that decode machine code. Each input is code, which is placed directly before
// unreadable memory.

#include "selftests/fuzz/fuzz.h"

#include "elf/build_id.h"
#include "preload/patch/instruction.h"
#include "cfi/callsite.h"
#include "cfi/request_site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *code = malloc(size);
	struct mf_instruction instruction;
	int64_t distance;
	const void *id;
	size_t id_size;

	if (!code)
		return 0;
	memcpy(code, data, size);
	for (size_t at = 0; at < size; at++) {
		if (!mf_instruction_read(code + at, size - at, &instruction))
			continue;
		fuzz_require(instruction.length && instruction.length <= size - at && instruction.length <= 15);
		fuzz_require(instruction.opcode_offset < instruction.length);
		fuzz_require(!instruction.near_offset || instruction.near_offset + 4 <= instruction.length);
	}
	mf_callsite_ends(code + size, size, &distance);
	mf_request_site_find(code, size);
	id_size = mf_build_id_find(code, size, &id);
	fuzz_require(!id_size || ((const uint8_t *)id >= code && id_size <= (size_t)(code + size - (const uint8_t *)id)));
	free(code);
	return 0;
}
