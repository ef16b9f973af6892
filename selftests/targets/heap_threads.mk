# SPDX-License-Identifier: GPL-2.0
LDLIBS-heap_threads := -lpthread
