# SPDX-License-Identifier: GPL-2.0
CFLAGS-diff_frames := -g -O2 -fno-builtin -D_GNU_SOURCE
