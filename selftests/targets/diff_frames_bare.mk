# SPDX-License-Identifier: GPL-2.0
CFLAGS-diff_frames_bare := -O2 -fno-builtin -D_GNU_SOURCE
