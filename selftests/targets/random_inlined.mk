# SPDX-License-Identifier: GPL-2.0
CFLAGS-random_inlined := -g -O2 -fno-builtin -D_GNU_SOURCE
