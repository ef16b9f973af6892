// SPDX-License-Identifier: GPL-2.0
// A statically linked program: nothing can be preloaded into it.

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *volatile block = malloc(1000);

	free(block);
	printf("%d arguments\n", argc - 1);
	return 9;
}
