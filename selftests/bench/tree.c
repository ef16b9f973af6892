// SPDX-License-Identifier: GPL-2.0
// Hundreds of thousands of distinct stacks: tree LEVELS ROUNDS
//
// Each level calls the next level from five call sites, so 8 levels give 5^8 = 390,625 stacks.

#include <stdlib.h>
#include <string.h>

#define FANOUT 5

static void *volatile slots[1024];
static unsigned int n_blocks;

static __attribute__((noinline)) void grow(int levels)
{
	volatile int done = 0;

	if (!levels) {
		void *volatile *slot = &slots[n_blocks++ % 1024];

		free(*slot);
		*slot = memset(malloc(24 + n_blocks % 200), 1, 24);
		return;
	}
	grow(levels - 1);
	done = done + 1;
	grow(levels - 1);
	done = done + 1;
	grow(levels - 1);
	done = done + 1;
	grow(levels - 1);
	done = done + 1;
	grow(levels - 1);
	done = done + FANOUT;
}

int main(int argc, char **argv)
{
	int levels = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 0;

	for (int i = 0; i < rounds; i++)
		grow(levels);
	return 0;
}
