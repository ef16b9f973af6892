// SPDX-License-Identifier: GPL-2.0
// A library with its own malloc, and functions that call it.

#include "own_allocator.h"
#include "own_calls.h"

void own_library_calls(void);
void *own_library_allocate(size_t size);

static void *early;

__attribute__((constructor)) static void begin(void)
{
	early = malloc(4444);
}

void own_library_calls(void)
{
	own_calls();
}

void *own_library_allocate(size_t size)
{
	return malloc(size);
}
