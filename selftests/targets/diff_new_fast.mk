# SPDX-License-Identifier: GPL-2.0
CFLAGS-diff_new_fast := -g -O2 -std=c++17
