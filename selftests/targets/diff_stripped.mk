# SPDX-License-Identifier: GPL-2.0
CFLAGS-diff_stripped := -O2 -s
