// SPDX-License-Identifier: GPL-2.0
// ctl_grow N: allocates N blocks of 1000 bytes, then waits forever. Without N, allocates and frees forever.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *blocks[1024];

__attribute__((noinline)) static void *grow(void)
{
	return malloc(1000);
}

static void churn(void)
{
	unsigned int i = 0;

	for (;;) {
		void **slot = &blocks[i++ * 7919 % 1024];

		free(*slot);
		*slot = malloc(i % 3000);
	}
}

int main(int argc, char **argv)
{
	char line[32];
	int length;

	/* Terminates the program if the test fails to do so. No test takes this long on any machine. */
	alarm(1000);
	if (argc > 1) {
		for (int i = 0; i < atoi(argv[1]); i++)
			blocks[i] = grow();
	}
	/* Do not use stdio: it would allocate its buffer as one more block. */
	length = snprintf(line, sizeof(line), "ready %d\n", (int)getpid());
	if (write(STDOUT_FILENO, line, (size_t)length) != length)
		return 1;
	if (argc == 1)
		churn();
	pause();
	return 0;
}
