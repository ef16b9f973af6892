// SPDX-License-Identifier: GPL-2.0
// untouched_calls with code whose unwind rules cannot be found, so that the shim follows frame pointers. Each
// allocation is made deeper in the stack than the one before it, so that each time the shim has to find out whether the
// new part of the stack is readable.

#define _GNU_SOURCE
#include <alloca.h>
#include <stdlib.h>

#define STEP  32
#define STEPS 8000

static __attribute__((noinline)) void *deeper_malloc(size_t size)
{
	static size_t calls;
	volatile char *room = alloca(STEP * (__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % STEPS + 1));
	void *block;

	room[0] = 1;
	block = malloc(size);
	room[0] = 0;
	return block;
}

#define malloc deeper_malloc
#include "untouched_calls.c"
