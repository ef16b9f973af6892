# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_verify_where := -g -O1 -D_GNU_SOURCE
LDLIBS-heap_verify_where := -lpthread
