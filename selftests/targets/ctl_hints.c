// SPDX-License-Identifier: GPL-2.0
// Allocates in nested functions: leaf() and its caller inner().

#include <stdlib.h>

static __attribute__((noinline)) void *leaf(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

static __attribute__((noinline)) void *inner(size_t size)
{
	void *volatile block = malloc(size);

	free(leaf(size));
	return block;
}

int main(void)
{
	free(inner(1000));
	return 0;
}
