// SPDX-License-Identifier: GPL-2.0
// heap_ask: a large amount of code that contains one client request, for a block of 50,000,000 bytes.

#include <stdlib.h>

#include <valgrind/valgrind.h>

__asm__(".text\n"
	"	.fill 1300000, 1, 0x90\n");

int main(void)
{
#ifndef QUIET
	VALGRIND_MALLOCLIKE_BLOCK(main, 50000000, 0, 0);
	VALGRIND_FREELIKE_BLOCK(main, 0);
#endif
	/* Free a block: massif checks for a peak before the total decreases. */
	free(malloc(1000));
	return 0;
}
