// SPDX-License-Identifier: GPL-2.0
// Has more pointers to malloc in its data than massif-ctl attach --heap changes words.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 70000 };

void *(*volatile attach_pointers[N])(size_t) = { [0 ... N - 1] = malloc };

int main(void)
{
	char byte;

	dprintf(1, "ready %d\n", (int)getpid());
	while (read(0, &byte, 1) == 1)
		free(attach_pointers[(unsigned char)byte](10));
	return 0;
}
