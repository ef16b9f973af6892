// SPDX-License-Identifier: GPL-2.0
// ctl_mappings [N [FILE]]: makes a mapping every few milliseconds, N times, or with N 0 until FILE exists, or forever.

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK 65536

__attribute__((noinline)) static void *map_one_more(void)
{
	return mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

__attribute__((noinline)) static int grow(long i)
{
	void *block = map_one_more();

	if (i % 4 == 0)
		munmap(block, BLOCK / 2);
	return block != MAP_FAILED;
}

int main(int argc, char **argv)
{
	const char *patience = getenv("MASSIF_PATIENCE");
	const char *end = argc > 2 ? argv[2] : NULL;
	long most = argc > 1 ? atol(argv[1]) : 0;

	/* Ends the program in case the test does not. */
	alarm(120 * (patience ? (unsigned int)atoi(patience) : 1));
	for (long i = 0; (!most || i < most) && !(end && access(end, F_OK) == 0); i++) {
		if (!grow(i))
			return 1;
		usleep(3000);
	}
	return 5;
}
