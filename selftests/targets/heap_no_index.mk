# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_no_index := -g -O2 -fomit-frame-pointer -D_GNU_SOURCE -Wl,--no-eh-frame-hdr
LDLIBS-heap_no_index := -lpthread
