# SPDX-License-Identifier: GPL-2.0
CFLAGS-diff_ignored := -g -O1 -fno-builtin -fno-optimize-sibling-calls
