// SPDX-License-Identifier: GPL-2.0
// A library with a Valgrind client request in its code, and with the bytes of such a request in its constants, both in
// the same segment.

#include <stddef.h>
#include <valgrind/valgrind.h>

const unsigned char heap_requests_there[19] = {
	0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d, 0x48, 0xc1,
	0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33, 0x48, 0x87, 0xdb,
};

void heap_requests_make(void *block, size_t size);

void heap_requests_make(void *block, size_t size)
{
	VALGRIND_MALLOCLIKE_BLOCK(block, size, 0, 0);
}
