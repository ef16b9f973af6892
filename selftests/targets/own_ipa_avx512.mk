# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_ipa_avx512 := -g -O3 -fno-builtin -mavx512f -mavx512vl -mavx512bw -mprefer-vector-width=512
