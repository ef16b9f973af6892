# SPDX-License-Identifier: GPL-2.0
CFLAGS-random_classes := -std=gnu++20 -g -O1 -fno-builtin -fsized-deallocation
