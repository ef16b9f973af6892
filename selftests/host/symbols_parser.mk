# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/symbols_parser: $(O)/libmassif.a
LDLIBS-symbols_parser := -ldw -lelf -liberty -ldeflate
