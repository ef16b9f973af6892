# SPDX-License-Identifier: GPL-2.0
LDLIBS-pages_stacks := -lpthread -ldl
# Where frame pointers are kept, unwinding is no art.
CFLAGS-pages_stacks := -g -O1 -fomit-frame-pointer -fno-ipa-icf
