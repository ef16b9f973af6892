# SPDX-License-Identifier: GPL-2.0
# The calls must be made as they stand.
CFLAGS-diff_calls := -g -O1 -fno-builtin -D_GNU_SOURCE -Wno-alloc-size-larger-than \
	-Wno-use-after-free
