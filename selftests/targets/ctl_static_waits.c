// SPDX-License-Identifier: GPL-2.0
// A statically linked program that is there long enough to be looked at.

#include <unistd.h>

int main(void)
{
	usleep(500000);
	return 0;
}
