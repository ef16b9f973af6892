# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_odd := -g -O1 -fno-builtin
