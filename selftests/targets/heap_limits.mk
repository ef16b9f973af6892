# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_limits := -g -O1 -D_GNU_SOURCE
LDLIBS-heap_limits := -lpthread
