# SPDX-License-Identifier: GPL-2.0
CFLAGS-untouched_calls := -g -O1 -fno-builtin
LDLIBS-untouched_calls := -lpthread
