// SPDX-License-Identifier: GPL-2.0
// Provides swap space in a guest: zram, which is compressed kernel memory.
#include <stdlib.h>

#include "selftests/lib/zram_swap.h"

static const char begin[] =
	"if [ ! -e /sys/block/zram0 ]; then"
	"	d=$MASSIF_BUILD/guest/$(uname -r); [ -d $d/lib/modules ] || d=/;"
	"	modprobe -d $d zram num_devices=1 || exit 1;"
	"fi;"
	"if [ $(cat /sys/block/zram0/disksize) = 0 ]; then"
	"	echo 64M > /sys/block/zram0/disksize && mkswap -q /dev/zram0 || exit 1;"
	"fi;"
	"swapon /dev/zram0";

bool zram_swap_begin(void)
{
	return system(begin) == 0;
}

bool zram_swap_end(void)
{
	return system("swapoff /dev/zram0") == 0;
}
