# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_new := -g -O1 -std=c++17
