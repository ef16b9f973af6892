# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_malloc_weak := -g -O1 -fno-builtin
