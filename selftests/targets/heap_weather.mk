# SPDX-License-Identifier: GPL-2.0
LDLIBS-heap_weather := -lpthread -ldl
CFLAGS-heap_weather := -I. -g -O1 -fno-builtin -D_GNU_SOURCE
