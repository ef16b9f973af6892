# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_links := -g -O1 -D_GNU_SOURCE -fomit-frame-pointer
