// SPDX-License-Identifier: GPL-2.0
// A statically linked program that runs long enough to be inspected.

#include <unistd.h>

int main(void)
{
	/* Twice the longest time between two looks of massif-ctl (LAST_WATCH_MS in userland/ctl/heap/program_watch.c). */
	usleep(1000000);
	return 0;
}
