# SPDX-License-Identifier: GPL-2.0
CFLAGS-untouched_fp := -g -O1 -fno-builtin -D_GNU_SOURCE
LDLIBS-untouched_fp := -lm
