# SPDX-License-Identifier: GPL-2.0
LDLIBS-pages_hidden := -ldl
# Only unwind rules lead through the library to what is here.
CFLAGS-pages_hidden := -D_GNU_SOURCE -g -O1 -fomit-frame-pointer
