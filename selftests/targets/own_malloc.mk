# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_malloc := -g -O1 -fno-builtin
