# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_depth := -g -O1 -D_GNU_SOURCE -fno-builtin -Wl,-z,now
LDLIBS-heap_depth := -lpthread
