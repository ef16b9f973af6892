# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_new_rdynamic := -g -O1 -std=c++17 -rdynamic
