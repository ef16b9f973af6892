# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_malloc_hidden := -g -O1 -fno-builtin
