// SPDX-License-Identifier: GPL-2.0
// A program with a malloc of its own that massif-ctl attach --heap must leave alone.

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static char memory[1 << 20];
static size_t used;

void *malloc(size_t size)
{
	void *block = memory + used;

	used += (size + 15) & ~(size_t)15;
	return used > sizeof(memory) ? NULL : block;
}

void free(void *block)
{
}

int main(void)
{
	char byte;

	dprintf(1, "ready %d\n", (int)getpid());
	while (read(0, &byte, 1) == 1)
		free(malloc(10));
	return 0;
}
