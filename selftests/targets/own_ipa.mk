# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_ipa := -g -O2 -fno-builtin
