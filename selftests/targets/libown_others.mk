# SPDX-License-Identifier: GPL-2.0
CFLAGS-libown_others := -g -O1 -fno-builtin
