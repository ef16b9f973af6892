// SPDX-License-Identifier: GPL-2.0
// A coroutine with a segmented stack (gcc -fsplit-stack): when a function needs more room, __morestack calls it on a
// new segment.

#include <stdlib.h>
#include <ucontext.h>

static ucontext_t coroutine, back;
static char first_piece[1 << 16];
static int depth;

static __attribute__((noinline)) int allocate(int left)
{
	volatile char room[3000];
	void *volatile block = malloc((size_t)(left + 1));
	int below = left ? allocate(left - 1) : 0;

	room[0] = (char)left;
	free(block);
	return below + room[0];
}

static void run(void)
{
	for (int i = 0; i < 30; i++)
		allocate(depth);
}

/* usage: heap_split_stack DEPTH. The exit status is 0. */
int main(int argc, char **argv)
{
	depth = argc > 1 ? atoi(argv[1]) : 10;
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = first_piece;
	coroutine.uc_stack.ss_size = sizeof(first_piece);
	coroutine.uc_link = &back;
	makecontext(&coroutine, run, 0);
	swapcontext(&back, &coroutine);
	run();
	return 0;
}
