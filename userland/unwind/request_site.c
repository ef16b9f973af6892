// SPDX-License-Identifier: GPL-2.0
// Where in a program's code a client request stands.

#include "unwind/request_site.h"

#include <string.h>

#if defined(__x86_64__)

/*
 * rol $3, %rdi; rol $13, %rdi; rol $61, %rdi; rol $51, %rdi; xchg %rbx, %rbx. All bits turned over,
 * so that this is none itself.
 */
static const uint8_t inverse[MF_REQUEST_SITE_BYTES] = {
	0xb7, 0x3e, 0x38, 0xfc, 0xb7, 0x3e, 0x38, 0xf2, 0xb7, 0x3e,
	0x38, 0xc2, 0xb7, 0x3e, 0x38, 0xcc, 0xb7, 0x78, 0x24,
};

const uint8_t *mf_request_site_find(const uint8_t *code, size_t n)
{
	uint8_t sequence[sizeof(inverse)];

	for (size_t i = 0; i < sizeof(inverse); i++)
		sequence[i] = (uint8_t)~inverse[i];
	return memmem(code, n, sequence, sizeof(sequence));
}

#else

const uint8_t *mf_request_site_find(const uint8_t *code, size_t n)
{
	return NULL;
}

#endif
