// SPDX-License-Identifier: GPL-2.0
// A library for heap_load_many that allocates. It is linked without an index of its unwind rules (.eh_frame_hdr).

#include <stdlib.h>

void *heap_requests_kept;

void heap_requests_make(void *block, size_t size);

/* Compiled so that the caller cannot be found via the frame pointer. */
void heap_requests_make(void *block, size_t size)
{
	(void)block;
	asm volatile("xor %%ebp, %%ebp" : : : "rbp");
	heap_requests_kept = malloc(size);
	asm volatile("" : : : "memory");
}
