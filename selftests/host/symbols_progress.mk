# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/symbols_progress: $(O)/libmassif.a
LDLIBS-symbols_progress := -ldw -lelf -liberty -ldeflate -ldl
