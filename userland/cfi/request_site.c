// SPDX-License-Identifier: GPL-2.0
// Finds client requests in a program's code.

#include "request_site.h"

#include <stdbool.h>

#if defined(__x86_64__)

/*
 * rol $3, %rdi; rol $13, %rdi; rol $61, %rdi; rol $51, %rdi; xchg %rbx, %rbx. The bits are inverted so that a search
 * does not find this table itself.
 */
static const uint8_t inverse[MF_REQUEST_SITE_BYTES] = {
	0xb7, 0x3e, 0x38, 0xfc, 0xb7, 0x3e, 0x38, 0xf2, 0xb7, 0x3e,
	0x38, 0xc2, 0xb7, 0x3e, 0x38, 0xcc, 0xb7, 0x78, 0x24,
};

#define TRIPLE 3u /* mf_request_site_find() computes hashes of this many successive bytes of code */

static uint8_t hash_of(const uint8_t *triple)
{
	return (uint8_t)(triple[0] ^ triple[1] << 2 ^ triple[2] << 4);
}

static bool is_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
	while (n && *a == *b)
		a++, b++, n--;
	return !n;
}

/*
 * Searches for the instruction sequence of a client request. At each possible position, looks up a hash of the last
 * three bytes. If these bytes occur nowhere in the sequence, several positions can be skipped at once. Speed matters
 * because all of a program's code is searched; memmem() is not available in the shim.
 */
const uint8_t *mf_request_site_find(const uint8_t *code, size_t n)
{
	enum { LENGTH = sizeof(inverse), FURTHEST = LENGTH - TRIPLE + 1 };
	uint8_t sequence[LENGTH], steps[256];

	for (size_t i = 0; i < LENGTH; i++)
		sequence[i] = (uint8_t)~inverse[i];
	for (size_t i = 0; i < sizeof(steps); i++)
		steps[i] = FURTHEST;
	for (size_t i = 0; i < FURTHEST; i++)
		steps[hash_of(sequence + i)] = (uint8_t)(FURTHEST - 1 - i);
	for (size_t end = LENGTH; end <= n;) {
		uint8_t step = steps[hash_of(code + end - TRIPLE)];

		if (!step && is_equal(code + end - LENGTH, sequence, LENGTH))
			return code + end - LENGTH;
		end += step ? step : 1;
	}
	return NULL;
}

#else

const uint8_t *mf_request_site_find(const uint8_t *code, size_t n)
{
	return NULL;
}

#endif
