// SPDX-License-Identifier: GPL-2.0
// A library that rss_shapes loads while it runs: keeps a block, and writes to data that are in the library's file.

#include <stdlib.h>
#include <string.h>

#define DATA_BYTES (1ul << 20)

static volatile char data[DATA_BYTES] = { 1 };

void *rss_plugin_keep(size_t size);

__attribute__((noinline)) void *rss_plugin_keep(size_t size)
{
	void *volatile block = malloc(size);

	for (size_t i = 0; i < DATA_BYTES; i += 4096)
		data[i] = 2;
	return block ? memset(block, 1, size) : NULL;
}
