# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_ask := -g -O1 -Wl,--build-id=0x6d61737369662061736b
CFLAGS-heap_ask_nothing := $(CFLAGS-heap_ask)
