# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/pages_ring: $(O)/selftests/lib/pages_stream.o $(O)/libmassif.a
LDLIBS-pages_ring := -ldw -lelf -liberty -lunwind-generic -lunwind -ldeflate
