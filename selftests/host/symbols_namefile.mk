# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/symbols_namefile: $(O)/libmassif.a
LDLIBS-symbols_namefile := -ldw -lelf -liberty -ldeflate
