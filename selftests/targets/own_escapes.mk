# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_escapes := -g -O1 -fno-builtin
