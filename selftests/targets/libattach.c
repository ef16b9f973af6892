// SPDX-License-Identifier: GPL-2.0
// A library that allocates, for programs that load it before or after massif-ctl attaches to them.

#include <stdlib.h>

void *attach_make(void)
{
	return malloc(1000);
}

void attach_end(void *block)
{
	free(block);
}
