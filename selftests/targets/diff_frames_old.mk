# SPDX-License-Identifier: GPL-2.0
CFLAGS-diff_frames_old := -gdwarf-4 -gz -O3 -fno-builtin -D_GNU_SOURCE -no-pie
