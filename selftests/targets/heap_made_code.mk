# SPDX-License-Identifier: GPL-2.0
# The frame pointer is the same each time that main calls.
CFLAGS-heap_made_code := -g -O1 -D_GNU_SOURCE -fno-builtin -fno-omit-frame-pointer
