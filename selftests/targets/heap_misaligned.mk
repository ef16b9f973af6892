# SPDX-License-Identifier: GPL-2.0
# Its assembly changes the stack pointer, which is then not what the caller is found by.
CFLAGS-heap_misaligned := -g -O1 -fno-builtin -fno-omit-frame-pointer
