# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_malloc_plainest := -g -O0 -fno-builtin
