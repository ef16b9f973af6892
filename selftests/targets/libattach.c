// SPDX-License-Identifier: GPL-2.0
// A library that allocates, for programs that load it after massif-ctl has attached to them.

#include <stdlib.h>

void *attach_make(void)
{
	return malloc(1000);
}
