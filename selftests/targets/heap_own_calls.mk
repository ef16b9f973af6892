# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_own_calls := -g -O1 -D_GNU_SOURCE -fno-builtin
LDLIBS-heap_own_calls := -rdynamic -lpthread
