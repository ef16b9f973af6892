// SPDX-License-Identifier: GPL-2.0
// Allocates, fills and frees blocks at a stack depth of 60 frames: deep BLOCKS

#include <stdlib.h>
#include <string.h>

#define SLOTS 1024
#define AT_ONCE 8

static void *volatile slots[SLOTS];
static unsigned int n_blocks;

static __attribute__((noinline)) void replace(size_t size)
{
	void *volatile *slot = &slots[n_blocks++ % SLOTS];

	free(*slot);
	*slot = memset(malloc(size), 1, size);
}

static __attribute__((noinline)) int descend(int level)
{
	volatile int reached = level;

	if (level > 0)
		return descend(level - 1) + reached;
	for (int i = 0; i < AT_ONCE; i++)
		replace(16 + n_blocks * 13 % 200);
	return reached;
}

int main(int argc, char **argv)
{
	long blocks = argc > 1 ? atol(argv[1]) : 0;

	for (long i = 0; i < blocks / AT_ONCE; i++)
		descend(56);
	return 0;
}
