# SPDX-License-Identifier: GPL-2.0
CFLAGS-libown_library := -g -O1 -fno-builtin
