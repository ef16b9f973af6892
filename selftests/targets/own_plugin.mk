# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_plugin := -g -O1 -fno-builtin -D_GNU_SOURCE
LDLIBS-own_plugin := -Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN'
