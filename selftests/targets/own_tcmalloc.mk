# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_tcmalloc := -g -O1 -fno-builtin
LDLIBS-own_tcmalloc := -Wl,--no-as-needed -l:libtcmalloc_minimal.so.4
