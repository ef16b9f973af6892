// SPDX-License-Identifier: GPL-2.0
// Sends the profiler the monitor command given as an argument, while a block of 1,000 bytes is live.

#include <stdlib.h>

#include <valgrind/valgrind.h>

int main(int argc, char **argv)
{
	void *volatile kept = malloc(1000);

	VALGRIND_MONITOR_COMMAND(argv[1]);
	free(kept);
	return 0;
}
