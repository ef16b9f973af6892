# SPDX-License-Identifier: GPL-2.0
# The functions must be called as they stand.
CFLAGS-heap_operators := -g -O0 -std=c++17 -fno-builtin -Wno-alloc-size-larger-than
