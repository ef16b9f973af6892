# SPDX-License-Identifier: GPL-2.0
# The start files, and procedure linkage tables, would have the first FDE, before all code.
CFLAGS-libheap_no_rules := -g -O1 -nostartfiles
