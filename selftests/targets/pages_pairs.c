// SPDX-License-Identifier: GPL-2.0
// pages_pairs N...: for each argument, maps and unmaps a page N times in a function called through sixteen frames, and
// prints the time per pair in ns. Waits for a byte on standard input before each argument but the first.

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static __attribute__((noinline)) int pair(void)
{
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return munmap(at, 4096);
}

static __attribute__((noinline)) int deep(int depth, int pairs)
{
	int failed = 0;

	if (depth)
		return deep(depth - 1, pairs) + failed;
	while (pairs--)
		failed |= pair();
	return failed;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int pairs = atoi(argv[i]);
		double start;
		char byte;

		if (i > 1 && read(0, &byte, 1) != 1)
			return 1;
		start = seconds();
		if (deep(16, pairs))
			return 2;
		printf("%.0f\n", (seconds() - start) * 1e9 / pairs);
		fflush(stdout);
	}
	return 0;
}
