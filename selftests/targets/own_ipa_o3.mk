# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_ipa_o3 := -g -O3 -fno-builtin -fno-pie -no-pie
