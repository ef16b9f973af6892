// SPDX-License-Identifier: GPL-2.0
// A library without its own allocator. It calls whichever allocation functions its symbols are bound to.

#include "own_calls.h"

void own_library_calls(void);
void *own_library_allocate(size_t size);

void own_library_calls(void)
{
	own_calls();
}

void *own_library_allocate(size_t size)
{
	return malloc(size);
}
