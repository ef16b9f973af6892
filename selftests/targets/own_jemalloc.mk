# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_jemalloc := -g -O1 -fno-builtin
LDLIBS-own_jemalloc := -Wl,--no-as-needed -l:libjemalloc.so.2
