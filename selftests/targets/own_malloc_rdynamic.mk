# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_malloc_rdynamic := -g -O1 -fno-builtin -rdynamic
