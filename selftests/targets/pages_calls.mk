# SPDX-License-Identifier: GPL-2.0
CFLAGS-pages_calls := -g -O1 -D_GNU_SOURCE -fno-optimize-sibling-calls
