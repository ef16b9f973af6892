// SPDX-License-Identifier: GPL-2.0
// heap_far_stack N: allocates from deep in the main stack, below N frames of nearly 64 MiB each. Few pages of these
// frames are touched.

#include <stdlib.h>

#define ROOM ((64ul << 20) - (64ul << 10))

static void *volatile last;

static __attribute__((noinline)) void go_down(long n)
{
	volatile char room[ROOM];

	/* Touch the lowest byte first, so that the stack grows by a whole frame in one step. */
	room[0] = 1;
	if (n > 1)
		go_down(n - 1);
	else
		last = malloc(1000000);
	room[1] = room[0];
}

int main(int argc, char **argv)
{
	go_down(argc > 1 ? atol(argv[1]) : 1);
	free(last);
	return 0;
}
