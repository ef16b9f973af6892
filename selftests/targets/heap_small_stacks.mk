# SPDX-License-Identifier: GPL-2.0
# The dynamic linker takes three KiB to look a function up at its first call.
LDLIBS-heap_small_stacks := -Wl,-z,now -lpthread
