// SPDX-License-Identifier: GPL-2.0
// A program linked with a library that has its own malloc.

#include "own_calls.h"

void own_library_calls(void);
void *own_library_allocate(size_t size);

int main(void)
{
	own_calls();
	own_library_calls();
	free(own_library_allocate(333));
	return 0;
}
