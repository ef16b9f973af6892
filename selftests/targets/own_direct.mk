# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_direct := -g -O1 -std=c++17
