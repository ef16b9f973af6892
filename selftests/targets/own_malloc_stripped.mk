# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_malloc_stripped := -O2 -fno-builtin -s
