# SPDX-License-Identifier: GPL-2.0
CFLAGS-libown_chosen := -g -O1 -fno-builtin -Wl,-Bsymbolic
