# SPDX-License-Identifier: GPL-2.0
# Every function has a frame of its own.
CFLAGS-diff_places := -g -O1 -fno-builtin -fno-optimize-sibling-calls
