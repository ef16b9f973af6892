# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_registers := -g -O1 -fno-builtin
