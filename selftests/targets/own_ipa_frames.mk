# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_ipa_frames := -g -O2 -fno-builtin -fno-omit-frame-pointer -fcf-protection=full
