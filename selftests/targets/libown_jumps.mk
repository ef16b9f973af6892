# SPDX-License-Identifier: GPL-2.0
CFLAGS-libown_jumps := -g -O1 -fno-builtin
