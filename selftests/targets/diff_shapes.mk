# SPDX-License-Identifier: GPL-2.0
# The calls must be made as they stand.
CFLAGS-diff_shapes := -g -O0 -fno-builtin
