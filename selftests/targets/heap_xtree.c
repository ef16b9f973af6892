// SPDX-License-Identifier: GPL-2.0
// Blocks that live at the end, of all sorts: inlined, recursive, empty, resized, from inside libc.

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void *kept[64];
static int n_kept;

static void keep(void *block)
{
	kept[n_kept++] = block;
}

static inline __attribute__((always_inline)) void *inlined(size_t size)
{
	return malloc(size);
}

__attribute__((noinline)) static void *leaf(size_t size)
{
	return inlined(size);
}

__attribute__((noinline)) static void *twice(size_t size)
{
	void *first = leaf(size);

	keep(leaf(size + 1));
	return first;
}

__attribute__((noinline)) static void descend(int depth, size_t size)
{
	if (depth)
		descend(depth - 1, size);
	keep(malloc(size));
}

int main(int argc, char **argv)
{
	/* With an argument nothing lives. */
	if (argc > 1) {
		free(leaf(100));
		return 0;
	}
	for (int i = 0; i < 5; i++)
		keep(twice(100 * (size_t)i));
	descend(7, 33);
	descend(2, 0);
	free(kept[3]);
	kept[3] = NULL;
	keep(calloc(7, 11));
	keep(strdup("words"));
	keep(memalign(64, 1000));
	keep(realloc(malloc(10), 5000));
	kept[0] = realloc(kept[0], 3);
	keep(leaf(0));
	return 0;
}
