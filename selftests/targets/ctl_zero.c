// SPDX-License-Identifier: GPL-2.0
// Reallocates a block to 0 bytes, and frees the result.

#include <stdlib.h>

/* Volatile, so that the compiler does not know which function is called. */
static void *(*volatile resize)(void *pointer, size_t size) = realloc;

int main(void)
{
	void *volatile other = malloc(3000);
	void *p = malloc(1000);

	p = resize(p, 0);
	free(p);
	free(other);
	return 0;
}
