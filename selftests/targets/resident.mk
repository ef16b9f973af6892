# SPDX-License-Identifier: GPL-2.0
CFLAGS-resident := -g -O1 -D_GNU_SOURCE -fno-omit-frame-pointer
LDLIBS-resident := -lpthread
