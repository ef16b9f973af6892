# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/symbols_symtab: $(O)/libmassif.a
LDLIBS-symbols_symtab := -ldw -lelf -liberty -ldeflate
