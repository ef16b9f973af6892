# SPDX-License-Identifier: GPL-2.0
CFLAGS-untouched_errno := -g -O1 -fno-builtin -D_GNU_SOURCE
LDLIBS-untouched_errno := -lpthread
