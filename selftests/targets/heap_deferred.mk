# SPDX-License-Identifier: GPL-2.0
# Above the stack pointer nothing is kept when flags are pushed by hand.
CFLAGS-heap_deferred := -g -O1 -mno-red-zone
