// SPDX-License-Identifier: GPL-2.0
// A static position-independent program that allocates.

#include <stdlib.h>

int main(void)
{
	void *volatile block = malloc(100);

	free(block);
	return 0;
}
