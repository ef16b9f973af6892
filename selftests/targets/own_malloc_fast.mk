# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_malloc_fast := -g -O2 -fno-builtin
