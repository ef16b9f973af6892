# SPDX-License-Identifier: GPL-2.0
CFLAGS-diff_requests := -g -O1 -D_GNU_SOURCE -Wno-use-after-free
LDLIBS-diff_requests := -lpthread
