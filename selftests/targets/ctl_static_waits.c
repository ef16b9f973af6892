// SPDX-License-Identifier: GPL-2.0
// A statically linked program that runs long enough to be inspected.

#include <unistd.h>

int main(void)
{
	usleep(500000);
	return 0;
}
