# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_load_many := -g -O1 -D_GNU_SOURCE
