# SPDX-License-Identifier: GPL-2.0
CFLAGS-diff_ends := -g -O0 -D_GNU_SOURCE
LDLIBS-diff_ends := -lpthread
