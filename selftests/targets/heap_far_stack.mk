# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_far_stack := -g -O1 -fno-optimize-sibling-calls -fno-ipa-cp
