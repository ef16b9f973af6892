# SPDX-License-Identifier: GPL-2.0
CFLAGS-heap_requests := -g -O1 -D_GNU_SOURCE -I.
LDLIBS-heap_requests := -lpthread
# The same with constants and code in one segment.
CFLAGS-heap_requests_mixed := $(CFLAGS-heap_requests) -Wl,-z,noseparate-code
LDLIBS-heap_requests_mixed := -lpthread
CFLAGS-libheap_requests := -g -O1 -D_GNU_SOURCE -Wl,-z,noseparate-code
