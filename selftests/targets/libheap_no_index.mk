# SPDX-License-Identifier: GPL-2.0
CFLAGS-libheap_no_index := -g -O2 -fomit-frame-pointer -Wl,--no-eh-frame-hdr
