# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_ipa_plain := -g -O0 -fno-builtin
