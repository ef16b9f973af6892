# SPDX-License-Identifier: GPL-2.0
# The compiler must not think that it knows what malloc_usable_size says.
CFLAGS-heap_real_sizes := -g -O1 -fno-builtin
