# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_left := -g -O1 -fno-builtin
