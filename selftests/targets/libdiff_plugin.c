// SPDX-License-Identifier: GPL-2.0
// A library that allocates, to be loaded with dlopen(3).

#include <stdlib.h>

void *diff_plugin_allocate(size_t size);

static __attribute__((noinline)) void *inside(size_t size)
{
	return malloc(size);
}

void *diff_plugin_allocate(size_t size)
{
	void *volatile block = inside(size);

	return block;
}

__attribute__((constructor)) static void load(void)
{
	void *volatile block = malloc(4321);

	(void)block;
}
