# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_malloc_no_rules := -g -Os -fno-builtin -fomit-frame-pointer -fno-asynchronous-unwind-tables -Wl,--no-eh-frame-hdr
