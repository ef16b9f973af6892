# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/pages_attach: $(O)/selftests/lib/pages_truth.o $(O)/libmassif.a
LDLIBS-pages_attach := -ldw -lelf -liberty -lunwind-generic -lunwind -ldeflate
