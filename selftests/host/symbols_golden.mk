# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/symbols_golden: $(O)/selftests/lib/symbols_oracle.o $(O)/libmassif.a
LDLIBS-symbols_golden := -ldw -lelf -liberty -ldeflate
