// SPDX-License-Identifier: GPL-2.0
// A stripped program: its functions have no names, so main cannot be found either.

#include <stdlib.h>

static void *volatile seen;

static __attribute__((noinline)) void f(size_t size)
{
	seen = malloc(size);
	seen = calloc(size, 2);
}

int main(void)
{
	for (size_t i = 1; i < 6; i++) {
		f(i * 100);
		seen = malloc(i);
	}
	free(seen);
	return 0;
}
