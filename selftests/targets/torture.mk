# SPDX-License-Identifier: GPL-2.0
CFLAGS-torture := -g -O1 -D_GNU_SOURCE
LDLIBS-torture := -lpthread
