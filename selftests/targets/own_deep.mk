# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_deep := -g -O1 -fno-builtin -D_GNU_SOURCE
