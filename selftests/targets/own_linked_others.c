// SPDX-License-Identifier: GPL-2.0
// A program linked with a library that has its own reallocarray, but no malloc.

#include "own_calls.h"

void cfree(void *block);
void free_sized(void *block, size_t size);

int main(void)
{
	void *block;

	own_calls();
	block = reallocarray(NULL, 10, 100);
	block = reallocarray(block, 20, 100);
	cfree(block);
	free_sized(one_place(2222), 2222);
	return 0;
}
