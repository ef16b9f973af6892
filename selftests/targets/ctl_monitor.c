// SPDX-License-Identifier: GPL-2.0
// Gives itself the monitor command that it is given, with a block of 1000 bytes alive.

#include <stdlib.h>

#include <valgrind/valgrind.h>

int main(int argc, char **argv)
{
	void *volatile kept = malloc(1000);

	VALGRIND_MONITOR_COMMAND(argv[1]);
	free(kept);
	return 0;
}
