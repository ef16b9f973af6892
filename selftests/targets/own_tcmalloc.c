// SPDX-License-Identifier: GPL-2.0
// A program linked with tcmalloc.

#include "own_calls.h"

int main(void)
{
	own_calls();
	return 0;
}
