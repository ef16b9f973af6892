# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_ipa_avx2 := -g -O3 -fno-builtin -mavx2 -mfma
