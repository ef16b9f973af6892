// SPDX-License-Identifier: GPL-2.0
// Where in a program's code a client request stands.

#include "request_site.h"

#include <stdbool.h>

#if defined(__x86_64__)

/*
 * rol $3, %rdi; rol $13, %rdi; rol $61, %rdi; rol $51, %rdi; xchg %rbx, %rbx. All bits turned over,
 * so that this is none itself.
 */
static const uint8_t inverse[MF_REQUEST_SITE_BYTES] = {
	0xb7, 0x3e, 0x38, 0xfc, 0xb7, 0x3e, 0x38, 0xf2, 0xb7, 0x3e,
	0x38, 0xc2, 0xb7, 0x3e, 0x38, 0xcc, 0xb7, 0x78, 0x24,
};

#define TRIPLE 3u /* bytes that are looked at at a time */

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
 * By the last three bytes of where the sequence may stand: if these occur nowhere in it, it does not stand in
 * most of the bytes before them either. All code of a program is searched, so this is what takes the time; and
 * the shim has no memmem(3).
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
