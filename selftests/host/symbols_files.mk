# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/symbols_files: $(O)/libmassif.a
LDLIBS-symbols_files := -ldw -lelf -liberty -ldeflate
