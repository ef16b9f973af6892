# SPDX-License-Identifier: GPL-2.0
CFLAGS-libown_none := -g -O1 -fno-builtin
