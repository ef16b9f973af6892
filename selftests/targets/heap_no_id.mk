# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_no_id := -g -O1 -Wl,--build-id=none
LDLIBS-heap_no_id := $(LDLIBS-heap_stacks)
