# SPDX-License-Identifier: GPL-2.0
# The linker is to be gold: it gives functions that call others without split stacks more room.
CFLAGS-heap_split_stack := -g -O0 -D_GNU_SOURCE -fsplit-stack -fcf-protection=none
LDLIBS-heap_split_stack := -fuse-ld=gold
