# SPDX-License-Identifier: GPL-2.0
CFLAGS-untouched_names := -g -O1 -fno-builtin -rdynamic
LDLIBS-untouched_names := -lpthread
