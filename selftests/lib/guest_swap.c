// SPDX-License-Identifier: GPL-2.0
// Provides swap space in a guest.
#include <stdlib.h>

#include "selftests/lib/guest_swap.h"

#define LOAD(module) \
	"d=$MASSIF_BUILD/guest/$(uname -r); [ -d $d/lib/modules ] || d=/;" \
	"modprobe -d $d " module " || exit 1;"

#define LOAD_ZRAM	"if [ ! -e /sys/block/zram0 ]; then " LOAD("zram num_devices=1") "fi;"

const struct guest_swap guest_swap_zram = {
	.name = "zram",
	.begin = LOAD_ZRAM
		"if [ $(cat /sys/block/zram0/disksize) = 0 ]; then"
		"	echo 64M > /sys/block/zram0/disksize && mkswap -q /dev/zram0 || exit 1;"
		"fi;"
		"swapon /dev/zram0",
	.end = "swapoff /dev/zram0",
};

#define DIRECTORY	"/tmp/massif-swap"

/* The file system is on a zram device of its own. */
const struct guest_swap guest_swap_file = {
	.name = "file",
	.begin = LOAD_ZRAM
		"if ! grep -qw ext4 /proc/filesystems; then " LOAD("ext4") "fi;"
		"set -e;"
		"number=$(cat /sys/class/zram-control/hot_add);"
		"echo 64M > /sys/block/zram$number/disksize;"
		"mke2fs -q -t ext4 -O ^has_journal /dev/zram$number;"
		"mkdir -p " DIRECTORY ";"
		"mount -t ext4 /dev/zram$number " DIRECTORY ";"
		"dd if=/dev/zero of=" DIRECTORY "/file bs=1M count=40 2>/dev/null;"
		"chmod 600 " DIRECTORY "/file;"
		"mkswap -q " DIRECTORY "/file;"
		"swapon " DIRECTORY "/file",
	.end =
		"set -e;"
		"number=$(sed -n 's,^/dev/zram\\([0-9]*\\) " DIRECTORY " .*,\\1,p' /proc/mounts);"
		"swapoff " DIRECTORY "/file;"
		"umount " DIRECTORY ";"
		"echo $number > /sys/class/zram-control/hot_remove",
};

bool guest_swap_begin(const struct guest_swap *swap)
{
	return system(swap->begin) == 0;
}

bool guest_swap_end(const struct guest_swap *swap)
{
	return system(swap->end) == 0;
}
