// SPDX-License-Identifier: GPL-2.0
// Recognises the call instruction that precedes a return address.

#include "callsite.h"

#include <string.h>

#if defined(__x86_64__)

/*
 * Returns the length of the indirect call (ff /2) at @code, or 0 if there is no such call. The length depends on the
 * operand. @size bytes are readable.
 */
static size_t indirect_length(const uint8_t *code, size_t size)
{
	uint8_t mode = code[1] >> 6, operand = code[1] & 7;
	size_t length = 2;

	if (code[0] != 0xff || (code[1] >> 3 & 7) != 2)
		return 0;
	if (mode != 3 && operand == 4)
		length += size > 2 && !mode && (code[2] & 7) == 5 ? 5 : 1;
	else if (!mode && operand == 5)
		length += 4;
	return length + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

bool mf_callsite_ends(const uint8_t *end, size_t size, int64_t *distance)
{
	int32_t direct;

	*distance = 0;
	if (size >= 5 && end[-5] == 0xe8) {
		memcpy(&direct, end - 4, sizeof(direct));
		*distance = direct;
		return true;
	}
	for (size_t length = 2; length <= size && length <= MF_CALLSITE_BYTES; length++)
		if (indirect_length(end - length, length) == length)
			return true;
	return false;
}

#elif defined(__aarch64__)

bool mf_callsite_ends(const uint8_t *end, size_t size, int64_t *distance)
{
	uint32_t code;

	*distance = 0;
	if (size < sizeof(code))
		return false;
	memcpy(&code, end - sizeof(code), sizeof(code));
	/* The bl and blr instructions. */
	return code >> 26 == 0x25 || (code & 0xfffffc1f) == 0xd63f0000;
}

#endif
