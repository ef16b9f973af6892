// SPDX-License-Identifier: GPL-2.0
// A library that is opened and closed; see heap_dlclose.c.

#include <stdlib.h>

void *plugin_allocate(size_t size);

static __attribute__((noinline)) void *allocate_in_a(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" ::: "memory");
	return block;
}

void *plugin_allocate(size_t size)
{
	void *block = allocate_in_a(size);

	__asm__ volatile("" ::: "memory");
	return block;
}
