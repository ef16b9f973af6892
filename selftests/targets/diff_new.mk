# SPDX-License-Identifier: GPL-2.0
CFLAGS-diff_new := -g -O1 -std=c++17 -fno-builtin
