# SPDX-License-Identifier: GPL-2.0
CFLAGS-untouched_calls_bare := -g -O1 -fno-builtin -fno-omit-frame-pointer -Wl,--no-eh-frame-hdr
LDLIBS-untouched_calls_bare := -lpthread
