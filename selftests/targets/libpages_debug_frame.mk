# SPDX-License-Identifier: GPL-2.0
CFLAGS-libpages_debug_frame := -g -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer
CFLAGS-libpages_compressed := $(CFLAGS-libpages_debug_frame) -gz=zlib
CFLAGS-libpages_no_table := -g0 -O1 -fomit-frame-pointer -Wl,--no-eh-frame-hdr
