// SPDX-License-Identifier: GPL-2.0
// Allocates ten blocks, then more in two functions, then frees the ten: the usual example for heap profilers.

#include <stdlib.h>

static void *volatile kept[3];

static __attribute__((noinline)) void g(int i)
{
	kept[i] = malloc(4000);
}

static __attribute__((noinline)) void f(void)
{
	kept[0] = malloc(2000);
	g(1);
}

int main(void)
{
	void *blocks[10];

	for (int i = 0; i < 10; i++)
		blocks[i] = malloc(1000);
	f();
	g(2);
	for (int i = 0; i < 10; i++)
		free(blocks[i]);
	return 0;
}
